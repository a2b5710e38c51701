#pragma once

#include "syrtos/ops/op.h"

namespace syrtos::ops {

/// Of each sample, the channels are divided into `groups` of neighbours; all elements of a group
/// together are brought to mean 0 and variance 1, then scaled and shifted by channel: dst =
/// gamma * (src - mean) * inv_std + beta. As many groups as channels: instance norm. Inputs src
/// [N,C,...], gamma [C] and beta [C] (f32); outputs dst, mean and inv_std [N,groups] f32.
class GroupNorm : public Op {
 public:
  int64_t groups = 1;
  float epsilon = 1e-5F;

  std::string_view name() const override { return "group_norm"; }
  std::string attributes() const override;
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
  std::vector<ValueId> gradient(GraphBuilder& graph, std::span<const ValueId> inputs,
                                std::span<const ValueId> outputs,
                                std::span<const ValueId> output_gradients) const override;
  void reference(std::span<const RefTensor> inputs, std::span<RefTensor> outputs,
                 const Step& step) const override;
  double flops(std::span<const TensorType> inputs,
               std::span<const TensorType> outputs) const override;
};

/// (src, gamma, mean, inv_std, diff_dst) -> diff_src, diff_gamma [C] f32, diff_beta [C] f32.
class GroupNormBackward : public Op {
 public:
  int64_t groups = 1;

  std::string_view name() const override { return "group_norm.backward"; }
  std::string attributes() const override;
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
  void reference(std::span<const RefTensor> inputs, std::span<RefTensor> outputs,
                 const Step& step) const override;
  double flops(std::span<const TensorType> inputs,
               std::span<const TensorType> outputs) const override;
};

}  // namespace syrtos::ops
