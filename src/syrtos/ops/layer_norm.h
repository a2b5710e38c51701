#pragma once

#include "syrtos/ops/op.h"

namespace syrtos::ops {

/// Rows of src [..., row] are brought to mean 0 and variance 1, then scaled and shifted element by
/// element: dst = gamma * (src - mean) * inv_std + beta with inv_std = 1 / sqrt(variance +
/// epsilon). Inputs src, gamma and beta (f32, of the shape of the axes from `axis` on, which are
/// the row). Outputs dst, mean and inv_std, f32 of the shape of the axes before ([1] for none).
class LayerNorm : public Op {
 public:
  int axis = 0;
  float epsilon = 1e-5F;

  std::string_view name() const override { return "layer_norm"; }
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

/// (src, gamma, mean, inv_std, diff_dst) -> diff_src, diff_gamma f32, diff_beta f32.
class LayerNormBackward : public Op {
 public:
  int axis = 0;

  std::string_view name() const override { return "layer_norm.backward"; }
  std::string attributes() const override;
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
  void reference(std::span<const RefTensor> inputs, std::span<RefTensor> outputs,
                 const Step& step) const override;
  double flops(std::span<const TensorType> inputs,
               std::span<const TensorType> outputs) const override;
};

}  // namespace syrtos::ops
