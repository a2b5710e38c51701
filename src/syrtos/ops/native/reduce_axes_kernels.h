#pragma once

#include <cstdint>

#include "syrtos/ops/native/kernel_table.h"

namespace syrtos::ops::native {

struct ReduceAxesKernels {
  /// The sum or the maximum of n neighbours.
  double (*sum_row[kElementTypes])(int64_t n, const void* src);
  double (*max_row[kElementTypes])(int64_t n, const void* src);
  /// total[i] = the same of what is there and src[i].
  void (*add_to[kElementTypes])(int64_t n, const void* src, float* total);
  void (*max_to[kElementTypes])(int64_t n, const void* src, float* total);
  /// dst = scale * src.
  void (*scale[kElementTypes])(int64_t n, const float* src, float scale, void* dst);
};

SYRTOS_DECLARE_KERNELS(ReduceAxesKernels, reduce_axes_kernels)

}  // namespace syrtos::ops::native
