#pragma once

#include "syrtos/ops/native/depthwise_wgrad.h"
#include "syrtos/ops/native/kernel_table.h"

namespace syrtos::ops::native {

struct DepthwiseWgradKernels {
  /// Adds one image's part to sums[tap][channel]; rows of sums are `stride` floats apart.
  void (*add_image[kElementTypes])(const DepthwiseShape& shape, const void* src,
                                   const void* diff_dst, float* sums, int64_t stride);
};

SYRTOS_DECLARE_KERNELS(DepthwiseWgradKernels, depthwise_wgrad_kernels)

}  // namespace syrtos::ops::native
