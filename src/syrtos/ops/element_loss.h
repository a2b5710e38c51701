#pragma once

#include "syrtos/ops/op.h"

namespace syrtos::ops {

/// With d = prediction - target.
enum class ElementLossKind {
  absolute,              ///< |d|
  huber,                 ///< d^2 / 2 up to |d| = delta, then delta * (|d| - delta / 2)
  binary_cross_entropy,  ///< -t log s(x) - (1 - t) log(1 - s(x)), s the sigmoid, x the prediction
};

/// (prediction, target), of one type [N,...] -> loss [1] f32: the mean over all elements. The
/// target is given, not computed: it gets no gradient.
class ElementLoss : public Op {
 public:
  ElementLossKind kind = ElementLossKind::absolute;
  float delta = 1;  ///< of huber
  explicit ElementLoss(ElementLossKind k, float d = 1) : kind(k), delta(d) {}

  std::string_view name() const override;
  std::string attributes() const override;
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
  std::vector<ValueId> gradient(GraphBuilder& graph, std::span<const ValueId> inputs,
                                std::span<const ValueId> outputs,
                                std::span<const ValueId> output_gradients) const override;
  void reference(std::span<const RefTensor> inputs, std::span<RefTensor> outputs,
                 const Step& step) const override;
};

/// (prediction, target, diff_loss [1]) -> diff_prediction.
class ElementLossBackward : public Op {
 public:
  ElementLossKind kind = ElementLossKind::absolute;
  float delta = 1;
  ElementLossBackward(ElementLossKind k, float d) : kind(k), delta(d) {}

  std::string_view name() const override;
  std::string attributes() const override;
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
  void reference(std::span<const RefTensor> inputs, std::span<RefTensor> outputs,
                 const Step& step) const override;
};

}  // namespace syrtos::ops
