#pragma once

#include <cstdint>

#include "syrtos/tensor/dtype.h"

// Pooling of channels-last tensors [N][H][W][C], f32 or bf16. Calls block until done, use the
// threads of syrtos/base/parallel.h and allocate nothing; results do not depend on the number of
// threads.

namespace syrtos::ops::native {

/// One spatial axis. Output o covers the inputs o*stride - padding + k*dilation for k < kernel
/// that exist or, if adaptive, [floor(o*input/output), ceil((o+1)*input/output)). padding_end only
/// counts in the divisors of averages that include padding.
struct PoolAxis {
  int64_t input = 1;
  int64_t output = 1;
  int64_t kernel = 1;
  int64_t stride = 1;
  int64_t padding = 0;
  int64_t padding_end = 0;
  bool adaptive = false;
  int64_t dilation = 1;
};

struct PoolShape {
  int64_t batch = 0;
  int64_t channels = 0;
  PoolAxis height, width;
  DType dtype = DType::f32;
  bool count_padding = false;  ///< averages: padding counts in the divisor
};

/// The shape of an adaptive pooling to output_height x output_width; 1 x 1 is global pooling.
PoolShape adaptive_pool_shape(DType dtype, int64_t batch, int64_t height, int64_t width,
                              int64_t channels, int64_t output_height, int64_t output_width);

void average_pool(const PoolShape& shape, const void* src, void* dst);
void average_pool_backward(const PoolShape& shape, const void* diff_dst, void* diff_src);

/// position (may be null) takes for each element of dst where in the plane (h * W + w) the maximum
/// was: the first one where several are equal. NaN counts as larger than everything, the last NaN
/// of a window wins. Each window must cover at least one input.
void max_pool(const PoolShape& shape, const void* src, void* dst, int32_t* position);
void max_pool_backward(const PoolShape& shape, const void* diff_dst, const int32_t* position,
                       void* diff_src);

}  // namespace syrtos::ops::native
