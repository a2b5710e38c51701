#include "syrtos/ops/loss.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "syrtos/base/error.h"

namespace syrtos::ops {

namespace {

const TensorType kLoss{DType::f32, {1}};

template <typename LossOp>
std::string label_attributes(const LossOp& op) {
  std::string text = op.smoothing == 0 ? "" : fmt::format("smoothing {}", op.smoothing);
  if (!op.class_weights.empty()) {
    text += fmt::format("{}weights {}", text.empty() ? "" : " ", fmt::join(op.class_weights, ","));
  }
  return text;
}

/// scores [N,C] and labels [N].
template <typename LossOp>
void require_classes(const LossOp& op, const TensorType& scores, const TensorType& labels,
                     std::string_view what) {
  require_float(op, scores, what);
  require_rank(op, scores, 2, what);
  require_type(op, labels, {DType::s32, {scores.shape[0]}},
               fmt::format("for {} {} labels", what, to_string(scores)));
  if (!(op.smoothing >= 0 && op.smoothing < 1)) {
    fail_shape(op, fmt::format("expected a smoothing of at least 0 and below 1, found {} for {} {}",
                               op.smoothing, what, to_string(scores)));
  }
  const bool fits =
      op.class_weights.empty() || static_cast<int64_t>(op.class_weights.size()) == scores.shape[1];
  if (!fits || !std::ranges::all_of(op.class_weights, [](float w) { return w >= 0; })) {
    fail_shape(op, fmt::format("expected a weight of at least 0 for each class of {} {}, found "
                               "[{}]",
                               what, to_string(scores), fmt::join(op.class_weights, ", ")));
  }
}

void require_prediction(const Op& op, const TensorType& prediction, const TensorType& target) {
  require_float(op, prediction, "prediction");
  require_same(op, prediction, target);
  if (prediction.shape.rank() < 1) {
    fail_shape(op,
               fmt::format("expected prediction [batch, ...], found {}", to_string(prediction)));
  }
}

}  // namespace

std::string CrossEntropy::attributes() const { return label_attributes(*this); }

std::vector<TensorType> CrossEntropy::infer(std::span<const TensorType> inputs) const {
  require_inputs(*this, inputs, 2);
  require_classes(*this, inputs[0], inputs[1], "log-probabilities");
  return {kLoss};
}

std::vector<ValueId> CrossEntropy::gradient(GraphBuilder& graph, std::span<const ValueId> inputs,
                                            std::span<const ValueId> /*outputs*/,
                                            std::span<const ValueId> output_gradients) const {
  auto backward = std::make_shared<CrossEntropyBackward>();
  backward->smoothing = smoothing;
  backward->class_weights = class_weights;
  backward->type = graph.type(inputs[0]);
  return {graph.add_one(backward, {inputs[1], output_gradients[0]}), kNone};
}

std::string CrossEntropyBackward::attributes() const {
  const std::string text = label_attributes(*this);
  return to_string(type) + (text.empty() ? "" : " ") + text;
}

std::vector<TensorType> CrossEntropyBackward::infer(std::span<const TensorType> inputs) const {
  require_inputs(*this, inputs, 2);
  require_classes(*this, type, inputs[0], "log-probabilities");
  require_type(*this, inputs[1], kLoss, "diff_loss");
  return {type};
}

std::string SoftmaxCrossEntropy::attributes() const { return label_attributes(*this); }

std::vector<TensorType> SoftmaxCrossEntropy::infer(std::span<const TensorType> inputs) const {
  require_inputs(*this, inputs, 2);
  require_classes(*this, inputs[0], inputs[1], "logits");
  return {kLoss, inputs[0]};
}

std::string SoftmaxCrossEntropyBackward::attributes() const { return label_attributes(*this); }

std::vector<TensorType> SoftmaxCrossEntropyBackward::infer(
    std::span<const TensorType> inputs) const {
  require_inputs(*this, inputs, 3);
  require_classes(*this, inputs[0], inputs[1], "probabilities");
  require_type(*this, inputs[2], kLoss, "diff_loss");
  return {inputs[0]};
}

std::vector<TensorType> HalfSquaredError::infer(std::span<const TensorType> inputs) const {
  require_inputs(*this, inputs, 2);
  require_prediction(*this, inputs[0], inputs[1]);
  return {kLoss};
}

// The target is given, not computed: it gets no gradient.
std::vector<ValueId> HalfSquaredError::gradient(GraphBuilder& graph,
                                                std::span<const ValueId> inputs,
                                                std::span<const ValueId> /*outputs*/,
                                                std::span<const ValueId> output_gradients) const {
  return {graph.add_one(std::make_shared<HalfSquaredErrorBackward>(),
                        {inputs[0], inputs[1], output_gradients[0]}),
          kNone};
}

std::vector<TensorType> HalfSquaredErrorBackward::infer(std::span<const TensorType> inputs) const {
  require_inputs(*this, inputs, 3);
  require_prediction(*this, inputs[0], inputs[1]);
  require_type(*this, inputs[2], kLoss, "diff_loss");
  return {inputs[0]};
}

std::string L2Penalty::attributes() const { return fmt::format("factor {}", factor); }

std::vector<TensorType> L2Penalty::infer(std::span<const TensorType> inputs) const {
  require_inputs(*this, inputs, 1);
  require_float(*this, inputs[0], "weights");
  return {kLoss};
}

std::vector<ValueId> L2Penalty::gradient(GraphBuilder& graph, std::span<const ValueId> inputs,
                                         std::span<const ValueId> /*outputs*/,
                                         std::span<const ValueId> output_gradients) const {
  return {
      graph.add_one(std::make_shared<L2PenaltyBackward>(factor), {inputs[0], output_gradients[0]})};
}

std::string L2PenaltyBackward::attributes() const { return fmt::format("factor {}", factor); }

std::vector<TensorType> L2PenaltyBackward::infer(std::span<const TensorType> inputs) const {
  require_inputs(*this, inputs, 2);
  require_float(*this, inputs[0], "weights");
  require_type(*this, inputs[1], kLoss, "diff_loss");
  return {{DType::f32, inputs[0].shape}};
}

}  // namespace syrtos::ops
