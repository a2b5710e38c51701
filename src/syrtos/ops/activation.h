#pragma once

#include "syrtos/ops/op.h"

namespace syrtos::ops {

enum class ActivationKind { relu, sigmoid, tanh };

/// relu: max(src, 0); sigmoid: 1 / (1 + exp(-src)); tanh.
class Activation : public Op {
 public:
  ActivationKind kind = ActivationKind::relu;
  explicit Activation(ActivationKind k) : kind(k) {}

  std::string_view name() const override;
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
  std::vector<ValueId> gradient(GraphBuilder& graph, std::span<const ValueId> inputs,
                                std::span<const ValueId> outputs,
                                std::span<const ValueId> output_gradients) const override;
  void reference(std::span<const RefTensor> inputs, std::span<RefTensor> outputs,
                 const Step& step) const override;
};

/// (dst, diff_dst) -> diff_src: all three are known from their result.
class ActivationBackward : public Op {
 public:
  ActivationKind kind = ActivationKind::relu;
  explicit ActivationBackward(ActivationKind k) : kind(k) {}

  std::string_view name() const override;
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
  void reference(std::span<const RefTensor> inputs, std::span<RefTensor> outputs,
                 const Step& step) const override;
};

}  // namespace syrtos::ops
