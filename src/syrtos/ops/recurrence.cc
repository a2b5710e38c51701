#include "syrtos/ops/recurrence.h"

#include <fmt/format.h>

namespace syrtos::ops {

namespace {

std::string_view word_of(RecurrenceKind kind) {
  return kind == RecurrenceKind::lstm ? "lstm" : kind == RecurrenceKind::gru ? "gru" : "rnn";
}

std::string words_of(RecurrenceKind kind, bool reverse) {
  std::string text = kind == RecurrenceKind::rnn_tanh   ? "tanh"
                     : kind == RecurrenceKind::rnn_relu ? "relu"
                                                        : "";
  if (reverse) text += text.empty() ? "reversed" : " reversed";
  return text;
}

void require_weights(const Op& op, const TensorType& weights, int64_t gates) {
  require_float(op, weights, "weights");
  require_rank(op, weights, 2, "weights");
  if (weights.shape[1] < 1 || weights.shape[0] != gates * weights.shape[1]) {
    fail_shape(op, fmt::format("expected weights [{} * units, units], found {}", gates,
                               to_string(weights)));
  }
}

void require_lengths(const Op& op, const TensorType& lengths, int64_t batch) {
  require_type(op, lengths, {DType::s32, {batch}}, "lengths");
}

/// Of a pass over all steps: a product of all weights with each state, and some 10 operations for
/// each gate.
double flops_of_pass(const Shape& hidden, int64_t gates) {
  const auto units = static_cast<double>(hidden[2]);
  return static_cast<double>(hidden.elements() * gates) * (2 * units + 10);
}

}  // namespace

int64_t gates_of(RecurrenceKind kind) {
  return kind == RecurrenceKind::lstm ? 4 : kind == RecurrenceKind::gru ? 3 : 1;
}

int64_t kept_of(RecurrenceKind kind) {
  return kind == RecurrenceKind::lstm ? 5 : kind == RecurrenceKind::gru ? 4 : 0;
}

std::string_view Recurrence::name() const { return word_of(kind); }

std::string Recurrence::attributes() const { return words_of(kind, reverse); }

// projected [T,N,G], weights [G,H], bias [G], lengths [N] -> hidden [T,N,H], kept [T,N,K]
std::vector<TensorType> Recurrence::infer(std::span<const TensorType> inputs) const {
  require_inputs(*this, inputs, inputs.size() == 4 ? 4 : 3);
  const TensorType& projected = inputs[0];
  require_float(*this, projected, "projected");
  require_rank(*this, projected, 3, "projected");
  const Shape& shape = projected.shape;
  require_weights(*this, inputs[1], gates_of(kind));
  const int64_t units = inputs[1].shape[1];
  require_type(*this, projected, {inputs[1].dtype, {shape[0], shape[1], inputs[1].shape[0]}},
               "projected");
  require_type(*this, inputs[2], {DType::f32, {inputs[1].shape[0]}}, "bias");
  if (inputs.size() == 4) require_lengths(*this, inputs[3], shape[1]);
  std::vector<TensorType> outputs{{projected.dtype, {shape[0], shape[1], units}}};
  if (const int64_t kept = kept_of(kind); kept > 0) {
    outputs.push_back({DType::f32, {shape[0], shape[1], kept * units}});
  }
  return outputs;
}

std::vector<ValueId> Recurrence::gradient(GraphBuilder& graph, std::span<const ValueId> inputs,
                                          std::span<const ValueId> outputs,
                                          std::span<const ValueId> output_gradients) const {
  auto backward = std::make_shared<RecurrenceBackward>();
  backward->kind = kind;
  backward->reverse = reverse;
  std::vector<ValueId> operands{inputs[1]};
  operands.insert(operands.end(), outputs.begin(), outputs.end());
  operands.push_back(output_gradients[0]);
  if (inputs.size() == 4) operands.push_back(inputs[3]);
  std::vector<ValueId> gradients = graph.add(backward, operands);
  gradients.resize(inputs.size(), kNone);
  return gradients;
}

double Recurrence::flops(std::span<const TensorType> /*inputs*/,
                         std::span<const TensorType> outputs) const {
  return flops_of_pass(outputs[0].shape, gates_of(kind));
}

std::string_view RecurrenceBackward::name() const {
  return kind == RecurrenceKind::lstm  ? "lstm.backward"
         : kind == RecurrenceKind::gru ? "gru.backward"
                                       : "rnn.backward";
}

std::string RecurrenceBackward::attributes() const { return words_of(kind, reverse); }

int RecurrenceBackward::kept_at() const { return kept_of(kind) > 0 ? 2 : -1; }
int RecurrenceBackward::diff_at() const { return kept_of(kind) > 0 ? 3 : 2; }
int RecurrenceBackward::lengths_at(size_t inputs) const {
  const int at = diff_at() + 1;
  return inputs > static_cast<size_t>(at) ? at : -1;
}

// weights [G,H], hidden [T,N,H], kept [T,N,K], diff_hidden [T,N,H], lengths [N] ->
// diff_projected [T,N,G], diff_weights [G,H], diff_bias [G]
std::vector<TensorType> RecurrenceBackward::infer(std::span<const TensorType> inputs) const {
  const auto least = static_cast<size_t>(diff_at()) + 1;
  require_inputs(*this, inputs, inputs.size() == least + 1 ? least + 1 : least);
  const TensorType& weights = inputs[0];
  const TensorType& hidden = inputs[1];
  require_weights(*this, weights, gates_of(kind));
  require_rank(*this, hidden, 3, "hidden");
  const int64_t steps = hidden.shape[0];
  const int64_t batch = hidden.shape[1];
  const int64_t units = weights.shape[1];
  require_type(*this, hidden, {weights.dtype, {steps, batch, units}}, "hidden");
  if (kept_at() > 0) {
    require_type(*this, inputs[2], {DType::f32, {steps, batch, kept_of(kind) * units}}, "kept");
  }
  require_type(*this, inputs[least - 1], hidden, "diff_hidden");
  if (inputs.size() > least) require_lengths(*this, inputs[least], batch);
  return {{hidden.dtype, {steps, batch, weights.shape[0]}},
          {DType::f32, weights.shape},
          {DType::f32, {weights.shape[0]}}};
}

double RecurrenceBackward::flops(std::span<const TensorType> inputs,
                                 std::span<const TensorType> /*outputs*/) const {
  return 2 * flops_of_pass(inputs[1].shape, gates_of(kind));
}

}  // namespace syrtos::ops
