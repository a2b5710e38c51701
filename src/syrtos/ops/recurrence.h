#pragma once

#include "syrtos/ops/op.h"

namespace syrtos::ops {

/// What a unit of a recurrent layer computes at each step.
enum class RecurrenceKind : uint8_t { rnn_tanh, rnn_relu, lstm, gru };

/// Blocks of `units` rows that its weights consist of: 1, 4 (input, forget, cell, output) or 3
/// (reset, update, new), in this order.
int64_t gates_of(RecurrenceKind kind);

/// A recurrent layer's walk along a sequence: what depends on the state. Steps come first, so that
/// all samples of one step are neighbours. (projected [T,N,gates * units], weights
/// [gates * units, units], bias [gates * units] f32, optionally lengths [N] s32) -> hidden
/// [T,N,units] and, for lstm and gru, what its gradient needs, f32. `projected` is the share of the
/// layer's input, a product of all steps at once. With u = weights h + bias and h, c of the step
/// before (0 at first):
///   rnn   h' = tanh(projected + u), or relu
///   lstm  i, f, o = sigmoid and g = tanh of (projected + u); c' = f c + i g; h' = o tanh(c')
///   gru   r, z = sigmoid(projected + u); n = tanh(projected + r u); h' = (1 - z) n + z h
/// Reversed it walks from the last step to the first. Beyond a sample's length (0 to T) its hidden
/// values are 0, and a walk from the end begins at its own last step.
class Recurrence : public Op {
 public:
  RecurrenceKind kind = RecurrenceKind::lstm;
  bool reverse = false;

  /// "rnn", "lstm" or "gru"
  std::string_view name() const override;
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

/// (weights, hidden, kept for lstm and gru, diff_hidden, lengths where there are) -> diff_projected
/// [T,N,gates * units], diff_weights and diff_bias f32.
class RecurrenceBackward : public Op {
 public:
  RecurrenceKind kind = RecurrenceKind::lstm;
  bool reverse = false;

  /// Where its inputs stand; -1: it has none.
  int kept_at() const;
  int diff_at() const;
  int lengths_at(size_t inputs) const;

  std::string_view name() const override;
  std::string attributes() const override;
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
  void reference(std::span<const RefTensor> inputs, std::span<RefTensor> outputs,
                 const Step& step) const override;
  double flops(std::span<const TensorType> inputs,
               std::span<const TensorType> outputs) const override;
};

/// Numbers that a unit keeps of a step for its gradient: lstm i, f, g, o and c; gru r, z, n and
/// weights h + bias of n; none otherwise.
int64_t kept_of(RecurrenceKind kind);

}  // namespace syrtos::ops
