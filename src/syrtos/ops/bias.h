#pragma once

#include "syrtos/ops/op.h"

namespace syrtos::ops {

/// dst[n,c,...] = src[n,c,...] + bias[c]; bias [C] f32.
class BiasAdd : public Op {
 public:
  std::string_view name() const override { return "bias_add"; }
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
  std::vector<ValueId> gradient(GraphBuilder& graph, std::span<const ValueId> inputs,
                                std::span<const ValueId> outputs,
                                std::span<const ValueId> output_gradients) const override;
  void reference(std::span<const RefTensor> inputs, std::span<RefTensor> outputs,
                 const Step& step) const override;
};

/// diff_bias[c] = sum of diff_dst[n,c,...] over all axes but the second; f32.
class BiasBackward : public Op {
 public:
  std::string_view name() const override { return "bias_add.backward"; }
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
  void reference(std::span<const RefTensor> inputs, std::span<RefTensor> outputs,
                 const Step& step) const override;
};

}  // namespace syrtos::ops
