#pragma once

#include <cstdint>

#include "syrtos/ops/native/kernel_table.h"

namespace syrtos::ops::native {

/// Columns that are transposed together, for every instruction set; shares of threads are
/// multiples of it.
inline constexpr int64_t kTransposeStrip = 16;

struct ReorderKernels {
  /// Transposes the columns [column_begin, column_end) of one matrix [rows][columns].
  void (*transpose[kElementTypes][kElementTypes])(int64_t rows, int64_t columns,
                                                  int64_t column_begin, int64_t column_end,
                                                  const void* src, void* dst);
};

SYRTOS_DECLARE_KERNELS(ReorderKernels, reorder_kernels)

}  // namespace syrtos::ops::native
