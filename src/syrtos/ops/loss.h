#pragma once

#include "syrtos/ops/op.h"

namespace syrtos::ops {

/// (log-probabilities [N,C], labels [N] s32) -> loss [1] f32: the mean over the batch of
/// -weight * sum_c target[c] * log p[c]; target is 1 - smoothing for the label plus smoothing / C
/// everywhere, weight that of the label's class (1 where none are given). The divisor is the number
/// of samples, so that the parts of a divided batch add up to the whole.
class CrossEntropy : public Op {
 public:
  float smoothing = 0;
  std::vector<float> class_weights;  ///< one for each class, or none

  std::string_view name() const override { return "cross_entropy"; }
  std::string attributes() const override;
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
  std::vector<ValueId> gradient(GraphBuilder& graph, std::span<const ValueId> inputs,
                                std::span<const ValueId> outputs,
                                std::span<const ValueId> output_gradients) const override;
  void reference(std::span<const RefTensor> inputs, std::span<RefTensor> outputs,
                 const Step& step) const override;
};

/// (labels [N], diff_loss [1]) -> diff of the log-probabilities [N,C].
class CrossEntropyBackward : public Op {
 public:
  float smoothing = 0;
  std::vector<float> class_weights;  ///< one for each class, or none
  TensorType type;                   ///< of the log-probabilities

  std::string_view name() const override { return "cross_entropy.backward"; }
  std::string attributes() const override;
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
  void reference(std::span<const RefTensor> inputs, std::span<RefTensor> outputs,
                 const Step& step) const override;
};

/// Log-softmax and cross-entropy in one: (logits [N,C], labels [N]) -> loss [1], probabilities
/// [N,C]. Made by fusion.
class SoftmaxCrossEntropy : public Op {
 public:
  float smoothing = 0;
  std::vector<float> class_weights;  ///< one for each class, or none

  std::string_view name() const override { return "softmax_cross_entropy"; }
  std::string attributes() const override;
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
  void reference(std::span<const RefTensor> inputs, std::span<RefTensor> outputs,
                 const Step& step) const override;
};

/// (probabilities, labels, diff_loss [1]) -> diff_logits [N,C] = diff_loss / N * weight * (p -
/// target).
class SoftmaxCrossEntropyBackward : public Op {
 public:
  float smoothing = 0;
  std::vector<float> class_weights;  ///< one for each class, or none

  std::string_view name() const override { return "softmax_cross_entropy.backward"; }
  std::string attributes() const override;
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
  void reference(std::span<const RefTensor> inputs, std::span<RefTensor> outputs,
                 const Step& step) const override;
};

/// (prediction, target), both [N,...] -> loss [1] f32: the mean over the batch of 1/2 * the sum of
/// the squared differences.
class HalfSquaredError : public Op {
 public:
  std::string_view name() const override { return "half_squared_error"; }
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
  std::vector<ValueId> gradient(GraphBuilder& graph, std::span<const ValueId> inputs,
                                std::span<const ValueId> outputs,
                                std::span<const ValueId> output_gradients) const override;
  void reference(std::span<const RefTensor> inputs, std::span<RefTensor> outputs,
                 const Step& step) const override;
};

/// (prediction, target, diff_loss [1]) -> diff_prediction = diff_loss / N * (prediction - target).
class HalfSquaredErrorBackward : public Op {
 public:
  std::string_view name() const override { return "half_squared_error.backward"; }
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
  void reference(std::span<const RefTensor> inputs, std::span<RefTensor> outputs,
                 const Step& step) const override;
};

/// weights -> factor / 2 * the sum of their squares, [1] f32.
class L2Penalty : public Op {
 public:
  float factor = 0;
  explicit L2Penalty(float f) : factor(f) {}

  std::string_view name() const override { return "l2_penalty"; }
  std::string attributes() const override;
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
  std::vector<ValueId> gradient(GraphBuilder& graph, std::span<const ValueId> inputs,
                                std::span<const ValueId> outputs,
                                std::span<const ValueId> output_gradients) const override;
  void reference(std::span<const RefTensor> inputs, std::span<RefTensor> outputs,
                 const Step& step) const override;
};

/// (weights, diff_loss [1]) -> diff_loss * factor * weights, f32.
class L2PenaltyBackward : public Op {
 public:
  float factor = 0;
  explicit L2PenaltyBackward(float f) : factor(f) {}

  std::string_view name() const override { return "l2_penalty.backward"; }
  std::string attributes() const override;
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
  void reference(std::span<const RefTensor> inputs, std::span<RefTensor> outputs,
                 const Step& step) const override;
};

}  // namespace syrtos::ops
