#pragma once

#include <cstdint>

#include "syrtos/ops/native/kernel_table.h"

namespace syrtos::ops::native {

inline constexpr int kDenseRows = 8;      ///< of the result in a tile
inline constexpr int kDenseColumns = 48;  ///< and columns

/// Packed operands: src [in / 48][batch][48], diff_dst [out / 8][batch][8], zeros where they end.
struct DenseWgradKernels {
  /// `rows` rows of the result from one panel of diff_dst on, and columns [begin, end), which are
  /// multiples of 16; begin also of 48. result is where column 0 of the first row lies.
  void (*rows)(const float* src, const float* diff_dst, int64_t batch, int64_t begin, int64_t end,
               int rows, float* result, int64_t pitch);
};

SYRTOS_DECLARE_KERNELS(DenseWgradKernels, dense_wgrad_kernels)

}  // namespace syrtos::ops::native
