#pragma once

#include "syrtos/ops/native/axis_map.h"
#include "syrtos/ops/native/kernel_table.h"

namespace syrtos::ops::native {

struct AxisMapKernels {
  /// Rows [begin, end) of one [columns][inner] -> [rows][inner].
  void (*run[kElementTypes])(const AxisMapProblem& problem, int64_t begin, int64_t end,
                             const void* src, void* dst);
};

SYRTOS_DECLARE_KERNELS(AxisMapKernels, axis_map_kernels)

}  // namespace syrtos::ops::native
