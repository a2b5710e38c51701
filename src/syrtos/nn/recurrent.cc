// The builder's layers of sequences: embeddings and recurrent layers.
#include <array>
#include <cmath>

#include "syrtos/nn/builder.h"
#include "syrtos/ops/arithmetic.h"
#include "syrtos/ops/bias.h"
#include "syrtos/ops/concat.h"
#include "syrtos/ops/matmul.h"
#include "syrtos/ops/shaping.h"
#include "syrtos/ops/to_indices.h"

namespace syrtos::nn {

namespace {

constexpr std::array<int64_t, 3> kExchanged{1, 0, 2};  // steps and samples

ValueId rows_times(graph::Graph& graph, ValueId rows, ValueId weights) {
  auto product = std::make_shared<ops::MatMul>();
  product->transpose_b = true;
  return graph.add_one(std::move(product), {rows, weights});
}

/// The last hidden values that a walk gives, [steps,N,units] -> [N,units].
ValueId end_of(graph::Graph& graph, ValueId hidden, bool reverse) {
  const Shape shape = graph.type(hidden).shape;
  const int64_t last = reverse ? 0 : shape[0] - 1;
  const std::array<ops::SliceRange, 1> range{{{.axis = 0, .start = last, .end = last + 1}}};
  return ops::reshape(graph, ops::slice(graph, hidden, range), {shape[1], shape[2]});
}

}  // namespace

// Of a picture the rows are steps, with all channels, of a signal the values along its length.
ValueId Builder::as_sequence(ValueId x) {
  const Shape from = shape(x);
  if (from.rank() == 3) return x;
  if (from.rank() != 4) {
    fail_request("{}: expected a sequence [batch, steps, features], found {}: reshape it", layer_,
                 to_string(from));
  }
  const bool signal = from[2] == 1;
  const std::array<int64_t, 4> order{0, signal ? 3 : 2, 1, signal ? 2 : 3};
  const int64_t steps = signal ? from[3] : from[2];
  return ops::reshape(graph_, ops::transpose(graph_, x, order),
                      {from[0], steps, from.elements_from(1) / steps});
}

// weight [rows, width], of variance 1
ValueId Builder::embedding(std::string_view name, ValueId x, int64_t rows, int64_t width) {
  need_one_network("an embedding");
  enter(name);
  const Shape from = shape(x);
  // The only axis that counts of a sample that is a row of an image.
  if (from.rank() == 4 && from[1] == 1 && from[2] == 1) {
    x = ops::reshape(graph_, x, {from[0], from[3]});
  }
  constexpr int64_t kExact = 256;
  if (graph_.type(x).dtype == DType::bf16 && rows > kExact + 1) {
    fail_request(
        "{}: expected numbers up to {}, which bf16 holds exactly, found {} rows: use --precision "
        "f32",
        layer_, kExact, rows);
  }
  const ValueId table =
      parameter("weight", {compute_, {rows, width}}, 1, Initializer::uniform(std::sqrt(3.0F)));
  const ValueId indices = graph_.add_one(std::make_shared<ops::ToIndices>(), {x});
  return ops::gather(graph_, table, 0, indices);
}

// [steps,N,features] -> [steps,N,units]; weight_ih [gates * units, features], weight_hh
// [gates * units, units], bias_ih and bias_hh [gates * units], as PyTorch names and divides them
ValueId Builder::walk(ValueId x, const RecurrentOptions& options, std::string_view suffix,
                      bool reverse) {
  const Shape from = shape(x);
  const int64_t rows = ops::gates_of(options.kind) * options.units;
  const Initializer init = Initializer::uniform(1 / std::sqrt(static_cast<float>(options.units)));
  const auto named = [&](std::string_view what) { return fmt::format("{}{}", what, suffix); };
  const ValueId weights_in = parameter(named("weight_ih"), {compute_, {rows, from[2]}}, 1, init);
  const ValueId weights = parameter(named("weight_hh"), {compute_, {rows, options.units}}, 1, init);
  const TensorType bias_type{DType::f32, {rows}};
  const ValueId bias_in = parameter(named("bias_ih"), bias_type, 0, init);
  ValueId bias = parameter(named("bias_hh"), bias_type, 0, init);
  ValueId projected =
      rows_times(graph_, ops::reshape(graph_, x, {from[0] * from[1], from[2]}), weights_in);
  if (options.kind == ops::RecurrenceKind::gru) {
    projected = graph_.add_one(std::make_shared<ops::BiasAdd>(), {projected, bias_in});
  } else {
    bias = graph_.add_one(std::make_shared<ops::Add>(), {bias_in, bias});
  }
  projected = ops::reshape(graph_, projected, {from[0], from[1], rows});
  auto op = std::make_shared<ops::Recurrence>();
  op->kind = options.kind;
  op->reverse = reverse;
  return graph_.add_one(std::move(op), {projected, weights, bias});
}

ValueId Builder::recurrent(std::string_view name, ValueId x, const RecurrentOptions& options) {
  need_one_network("a recurrent layer");
  enter(name);
  if (options.units < 1 || options.layers < 1) {
    fail_request("{}: expected one unit and one layer or more, found {} and {}", layer_,
                 options.units, options.layers);
  }
  x = ops::transpose(graph_, as_sequence(x), kExchanged);
  for (int64_t layer = 0; layer < options.layers; ++layer) {
    const bool ends = layer + 1 == options.layers && !options.sequence;
    const bool drops = training_ && options.dropout > 0;
    if (layer > 0 && !drops) x = drop(x, options.dropout);
    if (layer > 0 && drops) {
      // Masks count from sample to sample, so that the parts of a divided batch have those of all.
      x = ops::transpose(graph_, drop(ops::transpose(graph_, x, kExchanged), options.dropout),
                         kExchanged);
    }
    std::vector<ValueId> directions;
    for (const bool reverse : {false, true}) {
      if (reverse && !options.bidirectional) break;
      const std::string suffix = fmt::format("_l{}{}", layer, reverse ? "_reverse" : "");
      const ValueId hidden = walk(x, options, suffix, reverse);
      directions.push_back(ends ? end_of(graph_, hidden, reverse) : hidden);
    }
    if (directions.size() == 2) {
      auto op = std::make_shared<ops::Concat>();
      op->axis = ends ? 1 : 2;
      x = graph_.add(std::move(op), directions)[0];
    } else {
      x = directions[0];
    }
  }
  return options.sequence ? ops::transpose(graph_, x, kExchanged) : x;
}

}  // namespace syrtos::nn
