#pragma once

#include <cstdint>

#include "syrtos/ops/native/kernel_table.h"

namespace syrtos::ops::native {

inline constexpr int kDenseRows = 8;      ///< of the result in a tile
inline constexpr int kDenseColumns = 48;  ///< and columns

/// What happens to sums: they are stored, stored past the caches where they are aligned, or added.
enum class Put { store, stream, add };

/// Packed operands: src [in / 48][batch][48], diff_dst [out / 8][batch][8], zeros where they end.
struct DenseKernels {
  /// `rows` rows of the result from one panel of diff_dst on, and columns [begin, end), which are
  /// multiples of 16; begin also of 48. result is where column 0 of the first row lies.
  void (*rows)(const float* src, const float* diff_dst, int64_t batch, int64_t begin, int64_t end,
               int rows, float* result, int64_t pitch, Put put);
  /// Of the forward product, 8 rows of weights times a panel of src [in][48]: sums [8][48].
  void (*forward)(const float* weights, int64_t pitch, int rows, const float* panel, int64_t in,
                  float* sums);
};

SYRTOS_DECLARE_KERNELS(DenseKernels, dense_kernels)

}  // namespace syrtos::ops::native
