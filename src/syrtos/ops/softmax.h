#pragma once

#include "syrtos/ops/op.h"

namespace syrtos::ops {

/// Over the last axis of [..., classes]; with `log` its logarithm.
class Softmax : public Op {
 public:
  bool log = false;
  explicit Softmax(bool logarithm) : log(logarithm) {}

  std::string_view name() const override;
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
  std::vector<ValueId> gradient(GraphBuilder& graph, std::span<const ValueId> inputs,
                                std::span<const ValueId> outputs,
                                std::span<const ValueId> output_gradients) const override;
  void reference(std::span<const RefTensor> inputs, std::span<RefTensor> outputs,
                 const Step& step) const override;
};

/// (dst, diff_dst) -> diff_src.
class SoftmaxBackward : public Op {
 public:
  bool log = false;
  explicit SoftmaxBackward(bool logarithm) : log(logarithm) {}

  std::string_view name() const override;
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
  void reference(std::span<const RefTensor> inputs, std::span<RefTensor> outputs,
                 const Step& step) const override;
};

}  // namespace syrtos::ops
