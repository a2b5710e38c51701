#pragma once

#include <cstdint>

#include "syrtos/ops/native/kernel_table.h"

namespace syrtos::ops::native {

/// The part of a matrix with rows of `stride` elements that one thread works on.
struct BatchNormPart {
  int64_t stride;
  int64_t row_begin, row_end;
  int64_t channel_begin, channel_end;
};

/// Per-channel factors of the elementwise pass, each an array over all channels.
struct BatchNormFactors {
  const float* mean;
  const float* scale;  ///< of src - mean (forward), of the gradient (backward)
  const float* slope;  ///< of src - mean (backward)
  const float* shift;
};

/// Two sums for each channel: of src and its square, or of the gradient and gradient * src, src
/// taken relative to something near its mean. Arrays over all channels, padded to whole vectors.
struct BatchNormSums {
  double* first;
  double* second;
  float* block_first;  ///< of the present block of rows
  float* block_second;
};

struct BatchNormFinish {
  int64_t rows;
  int64_t channel_begin, channel_end;
  int partials;            ///< number of threads that summed
  int64_t partial_stride;  ///< doubles from the sums of one thread to those of the next
  BatchNormSums sums;      ///< of the first thread; takes those of the others
};

struct BatchNormKernels {
  /// shift = mean of a few rows spread over all rows: near enough to the mean that sums of
  /// (src - shift)^2 lose nothing.
  void (*sample_shift[kElementTypes])(const BatchNormPart& part, int64_t rows, const void* src,
                                      float* shift);
  /// Overwrites the sums with those of src - shift and its square over the part.
  void (*sums[kElementTypes])(const BatchNormPart& part, const void* src, const float* shift,
                              const BatchNormSums& sums);
  /// mean, inv_std, scale and the running statistics (unless null) from the sums of all threads.
  void (*finish_forward)(const BatchNormFinish& finish, const float* shift, const float* gamma,
                         float epsilon, float momentum, float* mean, float* inv_std, float* scale,
                         float* running_mean, float* running_var);
  /// dst = relu?((src - mean) * scale + shift + residual?)
  void (*normalize[kElementTypes])(const BatchNormPart& part, const BatchNormFactors& factors,
                                   const void* src, const void* residual, bool relu, void* dst);
  /// Sums of the gradient and of gradient * (src - mean), the gradient masked by dst unless null,
  /// and then also written to diff_residual unless null.
  void (*backward_sums[kElementTypes])(const BatchNormPart& part, const void* src, const void* dst,
                                       const void* diff_dst, const float* mean, void* diff_residual,
                                       const BatchNormSums& sums);
  /// diff_gamma, diff_beta, and the factors of backward_data.
  void (*finish_backward)(const BatchNormFinish& finish, const float* gamma, const float* inv_std,
                          float* diff_gamma, float* diff_beta, float* scale, float* slope,
                          float* shift);
  /// diff_src = scale * gradient + slope * (src - mean) + shift.
  void (*backward_data[kElementTypes])(const BatchNormPart& part, const BatchNormFactors& factors,
                                       const void* src, const void* dst, const void* diff_dst,
                                       void* diff_src);
  /// inv_std = 1 / sqrt(variance + epsilon), scale = gamma * inv_std.
  void (*scale_of)(int64_t begin, int64_t end, const float* variance, float epsilon,
                   const float* gamma, float* inv_std, float* scale);
};

SYRTOS_DECLARE_KERNELS(BatchNormKernels, batch_norm_kernels)

}  // namespace syrtos::ops::native
