#pragma once

#include <cstddef>
#include <cstdint>

#include "syrtos/tensor/dtype.h"

// The weight gradient of a depthwise convolution (as many groups as channels, one filter each) over
// channels-last images, f32 or bf16. Calls block until done, use the threads of
// syrtos/base/parallel.h and allocate nothing. Results are the same in each run with the same
// number of threads.

namespace syrtos::ops::native {

/// One spatial axis: tap k of output o reads input o*stride - padding + k*dilation.
struct DepthwiseAxis {
  int64_t input = 1;
  int64_t output = 1;
  int64_t kernel = 1;
  int64_t stride = 1;
  int64_t dilation = 1;
  int64_t padding = 0;
};

struct DepthwiseShape {
  int64_t batch = 0;
  int64_t channels = 0;
  DepthwiseAxis height, width;
  DType dtype = DType::f32;
};

/// Kernels with at most so many columns.
inline constexpr int64_t kDepthwiseWidest = 11;

/// diff_weights[channel][tap], taps row by row. The scratch is aligned to 64 bytes and sized for
/// the present thread count.
size_t depthwise_wgrad_scratch_bytes(const DepthwiseShape& shape);
void depthwise_wgrad(const DepthwiseShape& shape, const void* src, const void* diff_dst,
                     float* diff_weights, void* scratch);

}  // namespace syrtos::ops::native
