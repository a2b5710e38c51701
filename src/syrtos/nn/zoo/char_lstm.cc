// The next character of a text. What is measured is the one after a window of characters; training
// also asks for each character within the window from those before it.
#include "syrtos/nn/zoo/zoo.h"
#include "syrtos/ops/shaping.h"
#include "syrtos/ops/to_indices.h"

namespace syrtos::nn::zoo {
namespace {

constexpr int64_t kWidth = 64;   // of a character's embedding
constexpr int64_t kUnits = 256;  // of each of two layers

/// Elements [begin, end) along axis 1, as rows.
ValueId rows_of(graph::Graph& graph, ValueId x, int64_t begin, int64_t end) {
  const std::array<ops::SliceRange, 1> range{{{.axis = 1, .start = begin, .end = end}}};
  const ValueId part = ops::slice(graph, x, range);
  const Shape shape = graph.type(part).shape;
  const int64_t rows = shape[0] * shape[1];
  return ops::reshape(graph, part, shape.rank() == 2 ? Shape{rows} : Shape{rows, shape[2]});
}

Heads char_lstm_layers(Builder& b, ValueId x, const ModelOptions& options) {
  const int64_t length = b.shape(x).elements_from(1);
  x = ops::reshape(b.graph(), x, {options.batch, length});
  const bool everywhere = b.training() && options.task.has_classes() && length > 1;
  const ValueId text = x;
  x = b.embedding("embedding", x, options.classes, kWidth);
  x = b.recurrent("lstm", x,
                  {.units = kUnits, .layers = 2, .dropout = 0.2F, .sequence = everywhere});
  if (!everywhere) return {.logits = b.classifier("fc", x, options.classes)};
  graph::Graph& graph = b.graph();
  x = ops::reshape(graph, x, {options.batch * length, kUnits});
  x = ops::reshape(graph, b.classifier("fc", x, options.classes),
                   {options.batch, length, options.classes});
  const ValueId next = rows_of(graph, text, 1, length);
  const auto share = static_cast<float>(length);
  return {.logits = rows_of(graph, x, length - 1, length),
          .sides = {{.logits = rows_of(graph, x, 0, length - 1),
                     .weight = (share - 1) / share,
                     .labels = graph.add_one(std::make_shared<ops::ToIndices>(), {next})}},
          .weight = 1 / share};
}

}  // namespace

Network char_lstm() {
  return {{.name = "char-lstm",
           .description = "two LSTMs of 256 units: the next character of a text",
           .channels = 1,
           .height = 1,
           .width = 64,
           .classes = 96,
           .source = "after Karpathy 2015",
           .numbers = NetworkInfo::Numbers::below_classes},
          char_lstm_layers};
}

}  // namespace syrtos::nn::zoo
