// Recurrent layers and embeddings, as nodes.
#include "syrtos/base/error.h"
#include "syrtos/onnx/exporter.h"
#include "syrtos/ops/bias.h"
#include "syrtos/ops/gather.h"
#include "syrtos/ops/matmul.h"
#include "syrtos/ops/recurrence.h"

namespace syrtos::onnx {
namespace {

using graph::Node;
using graph::ValueId;
using ops::RecurrenceKind;

/// Whole numbers come as floats.
std::string to_indices(Exporter& out, const Node& node) {
  constexpr int64_t kInt64 = 7;
  std::string result = out.add("Cast", {out.name(node.inputs[0])});
  out.with("to", kInt64);
  return result;
}

std::string gather(Exporter& out, const Node& node) {
  const auto& op = dynamic_cast<const ops::Gather&>(*node.op);
  std::string result = out.add("Gather", {out.name(node.inputs[0]), out.name(node.inputs[1])});
  out.with("axis", int64_t{op.axis});
  return result;
}

/// The share of the input that a walk is given: weights x, plus a bias where it has one.
struct Projection {
  ValueId x = graph::kNone;  ///< [steps * batch, features]
  ValueId weights = graph::kNone;
  ValueId bias = graph::kNone;
};

const Node* producer(const Exporter& out, ValueId value) {
  const graph::NodeId id = out.graph().value(value).producer;
  return id == graph::kNone ? nullptr : &out.graph().nodes()[static_cast<size_t>(id)];
}

Projection projection_of(const Exporter& out, const Node& node) {
  Projection found;
  const Node* at = producer(out, node.inputs[0]);
  if (at != nullptr && at->op->name() == "reshape") at = producer(out, at->inputs[0]);
  if (at != nullptr && at->op->name() == "bias_add") {
    found.bias = at->inputs[1];
    at = producer(out, at->inputs[0]);
  }
  const auto* product = at == nullptr ? nullptr : dynamic_cast<const ops::MatMul*>(at->op.get());
  const bool fits = product != nullptr && !product->transpose_a && product->transpose_b &&
                    out.shape(at->inputs[0]).rank() == 2;
  if (!fits) {
    fail_request("{}: expected a recurrent layer on a product with its weights, found {}",
                 node.name, at == nullptr ? "an input" : at->op->name());
  }
  found.x = at->inputs[0];
  found.weights = at->inputs[1];
  return found;
}

/// Where the file's gates stand among ours: input, forget, cell, output; reset, update, new.
std::vector<int64_t> own_order(RecurrenceKind kind) {
  if (kind == RecurrenceKind::lstm) return {0, 3, 1, 2};
  if (kind == RecurrenceKind::gru) return {1, 0, 2};
  return {0};
}

/// Rows [gates * units, columns] in the file's order, [1, gates * units, columns]; of biases
/// [gates * units] in [1, gates * units].
std::string ordered(Exporter& out, RecurrenceKind kind, ValueId value) {
  const Shape shape = out.shape(value);
  const int64_t gates = ops::gates_of(kind);
  const int64_t units = shape[0] / gates;
  const bool bias = shape.rank() == 1;
  std::string x = out.name(value);
  if (gates > 1) {
    x = out.add("Reshape", {x, out.integers(bias ? std::vector<int64_t>{gates, units}
                                                 : std::vector<int64_t>{gates, units, shape[1]})});
    x = out.add("Gather", {x, out.integers(own_order(kind))});
    out.with("axis", int64_t{0});
  }
  return out.add("Reshape", {x, out.integers(bias ? std::vector<int64_t>{1, shape[0]}
                                                  : std::vector<int64_t>{1, shape[0], shape[1]})});
}

std::string both_biases(Exporter& out, RecurrenceKind kind, ValueId input, ValueId recurrent) {
  const int64_t rows = out.shape(recurrent)[0];
  const std::string second = ordered(out, kind, recurrent);
  std::string first;
  if (input == graph::kNone) {
    first = out.matrix(1, rows, std::vector<float>(static_cast<size_t>(rows), 0));
  } else {
    first = ordered(out, kind, input);
  }
  std::string result = out.add("Concat", {first, second});
  out.with("axis", int64_t{1});
  return result;
}

/// The product is part of the node; what was written of it beforehand is left out of the file.
std::string recurrence(Exporter& out, const Node& node) {
  const auto& op = dynamic_cast<const ops::Recurrence&>(*node.op);
  if (node.inputs.size() == 4) {
    fail_request("{}: lengths of sequences cannot be written", node.name);
  }
  const Projection projection = projection_of(out, node);
  const Shape hidden = out.shape(node.outputs[0]);
  const int64_t features = out.shape(projection.x)[1];
  const std::string x =
      out.add("Reshape", {out.name(projection.x), out.integers({hidden[0], -1, features})});
  const std::string weights = ordered(out, op.kind, projection.weights);
  const std::string recurrent = ordered(out, op.kind, node.inputs[1]);
  const std::string biases = both_biases(out, op.kind, projection.bias, node.inputs[2]);
  const bool lstm = op.kind == RecurrenceKind::lstm;
  const bool gru = op.kind == RecurrenceKind::gru;
  const std::string all = out.add(lstm  ? "LSTM"
                                  : gru ? "GRU"
                                        : "RNN",
                                  {x, weights, recurrent, biases});
  out.with("hidden_size", hidden[2]);
  if (gru) out.with("linear_before_reset", int64_t{1});
  if (op.reverse) out.with_text("direction", {"reverse"}, false);
  if (op.kind == RecurrenceKind::rnn_relu) out.with_text("activations", {"Relu"}, true);
  return out.add("Squeeze", {all, out.integers({1})});
}

}  // namespace

const std::map<std::string_view, Writer>& recurrent_writers() {
  static const std::map<std::string_view, Writer> writers = {
      {"to_indices", to_indices}, {"gather", gather},  {"rnn", recurrence},
      {"lstm", recurrence},       {"gru", recurrence},
  };
  return writers;
}

}  // namespace syrtos::onnx
