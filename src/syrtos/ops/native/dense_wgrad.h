#pragma once

#include <cstddef>
#include <cstdint>

// The gradient of a dense layer's weights in f32: diff_weights[out][in] = the sum over a batch of
// diff_dst[n][out] * src[n][in]. With batches of tens of rows the time goes into writing the result
// once, so it is computed tile by tile in registers and streamed past the caches. The call blocks
// until done, uses the threads of syrtos/base/parallel.h and allocates nothing; the result does not
// depend on their number. The scratch is aligned to 64 bytes.

namespace syrtos::ops::native {

struct DenseWgrad {
  int64_t batch = 1;
  int64_t in = 1;
  int64_t out = 1;
};

/// Whether it is expected to be faster than a general matrix product.
bool dense_wgrad_should_use(const DenseWgrad& problem);
/// Whether it could be computed here: in is a multiple of 16.
bool dense_wgrad_supported(const DenseWgrad& problem);

size_t dense_wgrad_scratch_bytes(const DenseWgrad& problem);
void dense_wgrad(const DenseWgrad& problem, const float* src, const float* diff_dst,
                 float* diff_weights, void* scratch);

}  // namespace syrtos::ops::native
