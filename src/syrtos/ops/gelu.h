#pragma once

#include "syrtos/ops/op.h"

namespace syrtos::ops {

/// x * sigmoid(2 sqrt(2 / pi) (x + 0.044715 x^3)): the form with tanh, within 5e-4 of
/// x * (1 + erf(x / sqrt(2))) / 2.
class Gelu : public Op {
 public:
  std::string_view name() const override { return "gelu"; }
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
  std::vector<ValueId> gradient(GraphBuilder& graph, std::span<const ValueId> inputs,
                                std::span<const ValueId> outputs,
                                std::span<const ValueId> output_gradients) const override;
  void reference(std::span<const RefTensor> inputs, std::span<RefTensor> outputs,
                 const Step& step) const override;
};

/// (src, diff_dst) -> diff_src: unlike those of Activation, two inputs can have the same result.
class GeluBackward : public Op {
 public:
  std::string_view name() const override { return "gelu.backward"; }
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
  void reference(std::span<const RefTensor> inputs, std::span<RefTensor> outputs,
                 const Step& step) const override;
};

}  // namespace syrtos::ops
