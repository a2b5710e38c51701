#pragma once

#include <cstdint>

#include "syrtos/tensor/dtype.h"

// Elementwise functions of dense tensors of n elements, f32 or bf16. dst may be any of the inputs.
// Calls block until done, use the threads of syrtos/base/parallel.h and allocate nothing; results
// do not depend on the number of threads.

namespace syrtos::ops::native {

void relu(DType dtype, int64_t n, const void* src, void* dst);  ///< NaN stays NaN
void sigmoid(DType dtype, int64_t n, const void* src, void* dst);
void tanh(DType dtype, int64_t n, const void* src, void* dst);
/// x * sigmoid(2 sqrt(2 / pi) (x + 0.044715 x^3))
void gelu(DType dtype, int64_t n, const void* src, void* dst);

/// Gradients from the result dst of the function.
void relu_backward(DType dtype, int64_t n, const void* dst, const void* diff_dst, void* diff_src);
void sigmoid_backward(DType dtype, int64_t n, const void* dst, const void* diff_dst,
                      void* diff_src);
void tanh_backward(DType dtype, int64_t n, const void* dst, const void* diff_dst, void* diff_src);
/// From its argument src.
void gelu_backward(DType dtype, int64_t n, const void* src, const void* diff_dst, void* diff_src);

void add(DType dtype, int64_t n, const void* a, const void* b, void* dst);
void add_relu(DType dtype, int64_t n, const void* a, const void* b, void* dst);
void multiply(DType dtype, int64_t n, const void* a, const void* b, void* dst);
void scale(DType dtype, int64_t n, const void* src, float factor, void* dst);
void fill(DType dtype, int64_t n, float value, void* dst);

/// dst = the sum of count >= 1 inputs, added in their order in f32 and rounded once.
void add_n(DType dtype, int64_t n, int count, const void* const* src, void* dst);

/// dst[row][channel] = relu?(src[row][channel] + bias[channel]); bias is f32.
void bias_add(DType dtype, int64_t rows, int64_t channels, const void* src, const float* bias,
              bool relu, void* dst);

/// Between f32 and bf16 (round to nearest even), or a copy. dst is src or does not overlap it, and
/// is not src if the types differ.
void convert(DType src_dtype, DType dst_dtype, int64_t n, const void* src, void* dst);

}  // namespace syrtos::ops::native
