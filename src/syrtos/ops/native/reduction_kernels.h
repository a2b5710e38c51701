#pragma once

#include <cstdint>

#include "syrtos/ops/native/kernel_table.h"

namespace syrtos::ops::native {

struct ReductionKernels {
  /// Overwrites sum[channel_begin, channel_end) with the sums over the rows [row_begin, row_end) of
  /// a matrix of `stride` columns; sum is padded to whole vectors.
  void (*column_sums[kElementTypes])(int64_t stride, int64_t row_begin, int64_t row_end,
                                     int64_t channel_begin, int64_t channel_end, const void* src,
                                     double* sum);
  double (*sum_of_squares[kElementTypes])(int64_t n, const void* src);
};

SYRTOS_DECLARE_KERNELS(ReductionKernels, reduction_kernels)

}  // namespace syrtos::ops::native
