#pragma once

#include <cstdint>
#include <span>

#include "syrtos/tensor/dtype.h"

// Batch normalisation of channels-last activations, seen as a matrix [rows][channels] with
// rows = N * H * W, fused with the addition of a residual and ReLU:
//
//   y = relu?( gamma * (x - mean) * inv_std + beta + residual? )
//
// Calls block until done, use the threads of syrtos/base/parallel.h and allocate nothing. Results
// are the same in each run with the same number of threads.

namespace syrtos::ops::native {

struct BatchNormShape {
  int64_t rows = 0;
  int64_t channels = 0;
  DType dtype = DType::f32;  ///< of src, residual, dst and their gradients
};

/// Bytes of scratch for the calls below that take it, for the present thread count. The scratch
/// must be aligned to 64 bytes.
int64_t batch_norm_scratch_bytes(int64_t channels);

struct BatchNormForwardTraining {
  const void* src;
  const void* residual;  ///< may be null
  const float* gamma;
  const float* beta;
  float epsilon;
  float momentum;  ///< running = (1 - momentum) * running + momentum * batch
  bool relu;
  void* dst;            ///< may be src or residual
  float* mean;          ///< of the batch, kept for backward
  float* inv_std;       ///< 1 / sqrt(biased variance + epsilon), kept for backward
  float* running_mean;  ///< may be null, then running_var is null too
  float* running_var;   ///< takes the unbiased variance
};
void batch_norm_forward_training(const BatchNormShape& shape, const BatchNormForwardTraining& args,
                                 void* scratch);

struct BatchNormForwardInference {
  const void* src;
  const void* residual;  ///< may be null
  const float* gamma;
  const float* beta;
  const float* running_mean;
  const float* running_var;
  float epsilon;
  bool relu;
  void* dst;  ///< may be src or residual
};
void batch_norm_forward_inference(const BatchNormShape& shape,
                                  const BatchNormForwardInference& args, void* scratch);

/// With g = relu ? (dst > 0 ? diff_dst : 0) : diff_dst and xhat = (src - mean) * inv_std:
///   diff_beta = sum g, diff_gamma = sum g * xhat, diff_residual = g,
///   diff_src = gamma * inv_std * (g - diff_beta / rows - xhat * diff_gamma / rows).
struct BatchNormBackward {
  const void* src;
  const void* dst;  ///< read only with relu
  const void* diff_dst;
  const float* gamma;
  const float* mean;
  const float* inv_std;
  bool relu;
  void* diff_src;       ///< may be diff_dst when diff_residual is null or elsewhere
  float* diff_gamma;    ///< overwritten
  float* diff_beta;     ///< overwritten
  void* diff_residual;  ///< may be null; may be diff_dst
};
void batch_norm_backward(const BatchNormShape& shape, const BatchNormBackward& args, void* scratch);

// The same over a batch of which each of several workers has a part, in two halves. The first
// leaves this worker's sums; then somebody adds the sums of all workers up, in f32, element by
// element, in any order; the second goes on with those. With one worker there is nothing to add.
// Which sums, and why the result is that of one worker with the whole batch: see
// batch_norm_halves.cc.

/// How many sums there are: floats.
int64_t batch_norm_forward_sums(int64_t channels);
int64_t batch_norm_backward_sums(int64_t channels);

void batch_norm_forward_first(const BatchNormShape& shape, const void* src, std::span<float> sums,
                              void* scratch);
/// mean, inv_std and the running statistics are those of the whole batch.
void batch_norm_forward_second(const BatchNormShape& shape, const BatchNormForwardTraining& args,
                               std::span<const float> sums, void* scratch);

/// Writes diff_gamma and diff_beta, of this worker's part, and diff_residual.
void batch_norm_backward_first(const BatchNormShape& shape, const BatchNormBackward& args,
                               std::span<float> sums, void* scratch);
/// Writes diff_src.
void batch_norm_backward_second(const BatchNormShape& shape, const BatchNormBackward& args,
                                std::span<const float> sums, void* scratch);

}  // namespace syrtos::ops::native
