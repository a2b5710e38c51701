#pragma once

#include <cstdint>

#include "syrtos/tensor/dtype.h"

// Sums over tensors. Calls block until done, use the threads of syrtos/base/parallel.h and allocate
// nothing. Results are the same in each run with the same number of threads.

namespace syrtos::ops::native {

/// diff_bias[channel] = the sum over rows of src[row][channel]; src is f32 or bf16. The scratch is
/// aligned to 64 bytes and sized for the present thread count.
int64_t bias_gradient_scratch_bytes(int64_t channels);
void bias_gradient(DType dtype, int64_t rows, int64_t channels, const void* src, float* diff_bias,
                   void* scratch);

/// The sum of the squares of n elements, in double precision.
double sum_of_squares(DType dtype, int64_t n, const void* src);

}  // namespace syrtos::ops::native
