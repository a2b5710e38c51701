// RNN, LSTM and GRU: each direction is a product of all steps and a walk along them.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "syrtos/onnx/importer.h"
#include "syrtos/onnx/unrolled.h"
#include "syrtos/ops/arithmetic.h"
#include "syrtos/ops/bias.h"
#include "syrtos/ops/concat.h"
#include "syrtos/ops/matmul.h"
#include "syrtos/ops/recurrence.h"
#include "syrtos/ops/shaping.h"

namespace syrtos::onnx {
namespace {

using ops::RecurrenceKind;

/// Where our gates stand among the file's: input, output, forget, cell; update, reset, hidden.
std::vector<int64_t> file_order(RecurrenceKind kind) {
  if (kind == RecurrenceKind::lstm) return {0, 2, 3, 1};
  if (kind == RecurrenceKind::gru) return {1, 0, 2};
  return {0};
}

/// What a node says, checked.
struct Layer {
  RecurrenceKind kind = RecurrenceKind::lstm;
  int64_t units = 0;
  std::vector<bool> directions = {};  ///< Whether each is reversed.
  bool batch_first = false;
  bool reset_first = false;  ///< Of gru: before the product.

  int64_t rows() const { return ops::gates_of(kind) * units; }
};

std::vector<bool> directions_of(const Call& call) {
  const std::string word = call.text("direction", "forward");
  if (word == "forward") return {false};
  if (word == "reverse") return {true};
  if (word == "bidirectional") return {false, true};
  call.fail("expected direction forward, reverse or bidirectional, found {}", word);
}

std::vector<std::string> usual_functions(RecurrenceKind kind) {
  if (kind == RecurrenceKind::lstm) return {"Sigmoid", "Tanh", "Tanh"};
  if (kind == RecurrenceKind::gru) return {"Sigmoid", "Tanh"};
  return {kind == RecurrenceKind::rnn_relu ? "Relu" : "Tanh"};
}

/// The functions of all directions are those that the operator has when it says nothing.
bool has_functions(const Call& call, RecurrenceKind kind, size_t directions) {
  const Attribute* given = call.attribute("activations");
  const auto* words = given == nullptr ? nullptr : std::get_if<std::vector<std::string>>(given);
  if (words == nullptr || words->empty()) return kind != RecurrenceKind::rnn_relu;
  const std::vector<std::string> usual = usual_functions(kind);
  bool same = words->size() == usual.size() * directions;
  for (size_t i = 0; same && i < words->size(); ++i) same = (*words)[i] == usual[i % usual.size()];
  return same;
}

void require_zeros(const Call& call, size_t input, std::string_view what) {
  if (!call.has(input)) return;
  const Array* array = call.known(input);
  bool zeros = array != nullptr;
  for (int64_t i = 0; zeros && i < array->elements(); ++i) {
    zeros = array->number(static_cast<size_t>(i)) == 0;
  }
  if (!zeros) call.fail("expected {} of zeros, or none, found others", what);
}

/// All sequences are as long as the values that are given.
void require_whole(const Call& call, int64_t steps) {
  if (!call.has(4)) return;
  for (const int64_t length : call.integers(4, "lengths of sequences")) {
    if (length == steps) continue;
    call.fail("expected sequences of all {} steps, found one of {}", steps, length);
  }
}

Layer layer_of(const Call& call, RecurrenceKind kind) {
  Layer layer{.kind = kind};
  layer.directions = directions_of(call);
  layer.batch_first = call.integer("layout", 0) != 0;
  layer.reset_first = kind == RecurrenceKind::gru && call.integer("linear_before_reset", 0) == 0;
  const Shape x = call.shape(0);
  const Shape weights = call.shape(1);
  const Shape recurrent = call.shape(2);
  if (x.rank() != 3 || weights.rank() != 3 || recurrent.rank() != 3) {
    call.fail("expected values, weights and recurrent weights of three axes, found {}, {} and {}",
              to_string(x), to_string(weights), to_string(recurrent));
  }
  layer.units = recurrent[2];
  const auto directions = static_cast<int64_t>(layer.directions.size());
  if (!(weights == Shape{directions, layer.rows(), x[2]}) ||
      !(recurrent == Shape{directions, layer.rows(), layer.units})) {
    call.fail("expected weights of {} and [{}, {}, units] for values {}, found {} and {}",
              to_string(Shape{directions, layer.rows(), x[2]}), directions, layer.rows(),
              to_string(x), to_string(weights), to_string(recurrent));
  }
  if (call.attribute("clip") != nullptr || call.integer("input_forget", 0) != 0) {
    call.fail("clip and input_forget are not supported");
  }
  if (!has_functions(call, kind, layer.directions.size())) {
    call.fail("expected the activations {}, found others", fmt::join(usual_functions(kind), ", "));
  }
  require_whole(call, x[layer.batch_first ? 1 : 0]);
  require_zeros(call, 5, "an initial state");
  return layer;
}

/// Rows of one direction, in our order of gates. Of biases `part` is 0 for those of the input and 1
/// for the recurrent ones.
ValueId rows_of(const Call& call, const Layer& layer, size_t input, size_t direction,
                int64_t part = -1) {
  const bool of_bias = part >= 0;
  const Shape shape = call.shape(input);
  const int64_t each = of_bias ? 2 * layer.rows() : layer.rows();
  std::vector<int64_t> rows;
  for (const int64_t gate : file_order(layer.kind)) {
    for (int64_t unit = 0; unit < layer.units; ++unit) {
      rows.push_back(static_cast<int64_t>(direction) * each +
                     std::max<int64_t>(0, part) * layer.rows() + gate * layer.units + unit);
    }
  }
  const ValueId stored = of_bias ? call.tensor(input, Role::bias) : call.computed(input);
  const ValueId all = of_bias ? ops::reshape(call.graph(), stored, {shape.elements()})
                              : ops::reshape(call.graph(), stored, {shape[0] * shape[1], shape[2]});
  return ops::gather(call.graph(), all, 0, rows, {layer.rows()});
}

ValueId bias_of(const Call& call, const Layer& layer, size_t direction, int64_t part) {
  if (call.has(3)) return rows_of(call, layer, 3, direction, part);
  auto zeros = std::make_shared<ops::Constant>();
  zeros->type = {DType::f32, {layer.rows()}};
  return call.add(std::move(zeros), {});
}

/// x [steps,batch,features] -> [steps,batch,units]
ValueId walk(const Call& call, const Layer& layer, ValueId x, size_t direction) {
  graph::Graph& graph = call.builder().graph();
  const Shape shape = graph.type(x).shape;
  auto product = std::make_shared<ops::MatMul>();
  product->transpose_b = true;
  ValueId projected =
      call.add(std::move(product), {ops::reshape(graph, x, {shape[0] * shape[1], shape[2]}),
                                    rows_of(call, layer, 1, direction)});
  if (call.has(3)) {
    projected =
        call.add(std::make_shared<ops::BiasAdd>(), {projected, bias_of(call, layer, direction, 0)});
  }
  projected = ops::reshape(graph, projected, {shape[0], shape[1], layer.rows()});
  const ValueId weights = rows_of(call, layer, 2, direction);
  const ValueId bias = bias_of(call, layer, direction, 1);
  const bool reverse = layer.directions[direction];
  if (layer.reset_first) return reset_first_gru(graph, projected, weights, bias, reverse);
  auto op = std::make_shared<ops::Recurrence>();
  op->kind = layer.kind;
  op->reverse = reverse;
  return call.add(std::move(op), {projected, weights, bias});
}

ValueId joined(const Call& call, const std::vector<ValueId>& parts) {
  if (parts.size() == 1) return parts[0];
  auto op = std::make_shared<ops::Concat>();
  op->axis = 1;
  return call.graph().add(std::move(op), parts)[0];
}

/// All hidden values [steps,directions,batch,units], and those at the end of each walk
/// [directions,batch,units]; the batch comes first where the node says so.
void recurrent(const Call& call, RecurrenceKind kind) {
  const Layer layer = layer_of(call, kind);
  graph::Graph& graph = call.builder().graph();
  ValueId x = call.computed(0);
  if (layer.batch_first) x = ops::transpose(graph, x, std::array<int64_t, 3>{1, 0, 2});
  const Shape shape = graph.type(x).shape;
  const int64_t batch = shape[1];
  const int64_t units = layer.units;
  const bool wants_end = call.is_used(1);
  std::vector<ValueId> hidden;
  std::vector<ValueId> ends;
  for (size_t d = 0; d < layer.directions.size(); ++d) {
    const ValueId all = walk(call, layer, x, d);
    hidden.push_back(ops::reshape(graph, all, {shape[0], 1, batch, units}));
    if (!wants_end) continue;
    const int64_t last = layer.directions[d] ? 0 : shape[0] - 1;
    const std::array<ops::SliceRange, 1> range{{{.axis = 0, .start = last, .end = last + 1}}};
    ends.push_back(ops::reshape(graph, ops::slice(graph, all, range), {1, 1, batch, units}));
  }
  if (call.is_used(0)) {
    const ValueId all = joined(call, hidden);
    call.result(layer.batch_first ? ops::transpose(graph, all, std::array<int64_t, 4>{2, 0, 1, 3})
                                  : all);
  }
  if (!wants_end) return;
  const auto directions = static_cast<int64_t>(layer.directions.size());
  const ValueId end = ops::reshape(graph, joined(call, ends), {directions, batch, units});
  call.result(layer.batch_first ? ops::transpose(graph, end, std::array<int64_t, 3>{1, 0, 2}) : end,
              1);
}

void rnn(const Call& call) {
  const size_t directions = directions_of(call).size();
  recurrent(call, has_functions(call, RecurrenceKind::rnn_relu, directions)
                      ? RecurrenceKind::rnn_relu
                      : RecurrenceKind::rnn_tanh);
}

void lstm(const Call& call) {
  if (call.is_used(2)) call.fail("the last cells as a result are not supported");
  require_zeros(call, 6, "initial cells");
  require_zeros(call, 7, "weights of peepholes");
  recurrent(call, RecurrenceKind::lstm);
}

void gru(const Call& call) { recurrent(call, RecurrenceKind::gru); }

}  // namespace

const Rules& recurrent_rules() {
  static const Rules rules = {{"RNN", rnn}, {"LSTM", lstm}, {"GRU", gru}};
  return rules;
}

}  // namespace syrtos::onnx
