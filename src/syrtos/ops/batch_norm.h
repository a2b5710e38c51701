#pragma once

#include "syrtos/ops/op.h"

namespace syrtos::ops {

/// Inputs src [N,C,...], gamma [C], beta [C], running_mean [C], running_var [C] (all f32 but src),
/// and residual (of src's type) if `add`. Outputs dst, and in training mean [C] and inv_std [C],
/// f32. dst = gamma * (src - mean) * inv_std + beta (+ residual), then ReLU if fused. Training uses
/// the batch's statistics and moves the running ones in place: running = (1 - momentum) * running +
/// momentum * batch, with the unbiased variance. Inference uses the running ones: inv_std = 1 /
/// sqrt(running_var + epsilon).
class BatchNorm : public Op {
 public:
  bool training = true;
  float epsilon = 1e-5F;
  float momentum = 0.1F;
  /// Statistics of the parts of a batch that all workers have together (in training).
  bool synchronised = false;
  bool relu = false;  ///< set by fusion
  bool add = false;   ///< a sixth input; set by fusion

  std::string_view name() const override { return "batch_norm"; }
  std::string attributes() const override;
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
  std::vector<ValueId> gradient(GraphBuilder& graph, std::span<const ValueId> inputs,
                                std::span<const ValueId> outputs,
                                std::span<const ValueId> output_gradients) const override;
  void reference(std::span<const RefTensor> inputs, std::span<RefTensor> outputs,
                 const Step& step) const override;
  double flops(std::span<const TensorType> inputs,
               std::span<const TensorType> outputs) const override;
  bool has_side_effects() const override { return true; }
};

/// Inputs src, gamma, mean, inv_std, diff_dst, and dst if `relu` (its zeros are the mask). Outputs
/// diff_src, diff_gamma [C] f32, diff_beta [C] f32, and diff_residual if `add` (the masked
/// diff_dst). If `synchronised`, diff_dst is that of the mean loss over this worker's part, and so
/// are the outputs: gradients of weights are to be added up with the workers' shares as weights.
class BatchNormBackward : public Op {
 public:
  bool synchronised = false;
  bool relu = false;  ///< set by fusion
  bool add = false;   ///< set by fusion

  std::string_view name() const override { return "batch_norm.backward"; }
  std::string attributes() const override;
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
  void reference(std::span<const RefTensor> inputs, std::span<RefTensor> outputs,
                 const Step& step) const override;
};

}  // namespace syrtos::ops
