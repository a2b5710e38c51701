#pragma once

#include "syrtos/ops/native/kernel_table.h"
#include "syrtos/ops/native/row_norm.h"

namespace syrtos::ops::native {

/// Arrays of sums have a multiple of 64 elements; those of coefficients one for each channel.
struct RowNormKernels {
  /// `rows` rows; the pointers of args point to the first of them.
  void (*layer_forward[kElementTypes])(int64_t rows, int64_t size, const NormForward& args);
  /// The same; adds to the sums of diff_dst * x and of diff_dst.
  void (*layer_backward[kElementTypes])(int64_t rows, int64_t size, const NormBackward& args,
                                        double* gamma_sum, double* beta_sum);
  /// sum[c] = the sum over pixels of src, and of (src - centre[c])^2.
  void (*sums[kElementTypes])(int64_t pixels, int64_t channels, const void* src, double* sum);
  void (*squares[kElementTypes])(int64_t pixels, int64_t channels, const void* src,
                                 const float* centre, double* sum);
  /// The sums over pixels of diff and of diff * (src - centre[c]).
  void (*gradient_sums[kElementTypes])(int64_t pixels, int64_t channels, const void* src,
                                       const float* centre, const void* diff, double* sum,
                                       double* sum_x);
  /// dst = a[c] * src + b[c].
  void (*apply[kElementTypes])(int64_t pixels, int64_t channels, const void* src, const float* a,
                               const float* b, void* dst);
  /// dst = a[c] * diff + b[c] * src + shift[c].
  void (*apply_two[kElementTypes])(int64_t pixels, int64_t channels, const void* diff,
                                   const float* a, const void* src, const float* b,
                                   const float* shift, void* dst);
};

SYRTOS_DECLARE_KERNELS(RowNormKernels, row_norm_kernels)

}  // namespace syrtos::ops::native
