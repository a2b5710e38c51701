#pragma once

#include "syrtos/ops/op.h"

namespace syrtos::ops {

enum class ReduceKind { sum, mean, max };

/// Sum, mean or maximum over some axes, which disappear from the shape ([1] remains when none is
/// left). The gradient of a maximum goes in equal parts to all elements that have it.
class Reduce : public Op {
 public:
  ReduceKind kind = ReduceKind::sum;
  std::vector<int> axes;
  bool f32_output = false;  ///< dst is f32 also for bf16: gradients of parameters; set by folding

  std::string_view name() const override;
  std::string attributes() const override;
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
  std::vector<ValueId> gradient(GraphBuilder& graph, std::span<const ValueId> inputs,
                                std::span<const ValueId> outputs,
                                std::span<const ValueId> output_gradients) const override;
  void reference(std::span<const RefTensor> inputs, std::span<RefTensor> outputs,
                 const Step& step) const override;
};

/// Repeats src along `axes` so that dst has `shape`, times `factor`: the gradient of Reduce.
class Broadcast : public Op {
 public:
  Shape shape;
  std::vector<int> axes;
  float factor = 1;

  std::string_view name() const override { return "broadcast"; }
  std::string attributes() const override;
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
  std::vector<ValueId> gradient(GraphBuilder& graph, std::span<const ValueId> inputs,
                                std::span<const ValueId> outputs,
                                std::span<const ValueId> output_gradients) const override;
  void reference(std::span<const RefTensor> inputs, std::span<RefTensor> outputs,
                 const Step& step) const override;
};

}  // namespace syrtos::ops
