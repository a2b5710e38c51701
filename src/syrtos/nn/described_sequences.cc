// Layers of sequences in described networks.
#include "syrtos/base/error.h"
#include "syrtos/nn/described_layer.h"

namespace syrtos::nn {

namespace {

constexpr int64_t kMostUnits = 1 << 20;
constexpr int64_t kMostLayers = 100;
constexpr int64_t kMostRows = int64_t{1} << 24;

ValueId embedding(const DescribedLayer& layer, const LayerPlace& p) {
  return p.builder.embedding(layer.name(), p.inputs[0], layer.integer("rows", 1, kMostRows),
                             layer.integer("out", 1, kMostUnits));
}

ValueId recurrent(const DescribedLayer& layer, const LayerPlace& p, ops::RecurrenceKind kind) {
  const float dropout = layer.number("dropout", 0);
  if (!(dropout >= 0 && dropout < 1)) {
    layer.fail(fmt::format("dropout: expected at least 0 and below 1, found {}", dropout));
  }
  return p.builder.recurrent(layer.name(), p.inputs[0],
                             {.kind = kind,
                              .units = layer.integer("out", 1, kMostUnits),
                              .layers = layer.integer("layers", 1, 1, kMostLayers),
                              .bidirectional = layer.flag("bidirectional", false),
                              .dropout = dropout,
                              .sequence = layer.flag("sequence", true)});
}

ValueId rnn(const DescribedLayer& layer, const LayerPlace& p) {
  const bool relu = layer.word("activation", {"tanh", "relu"}) == "relu";
  return recurrent(layer, p, relu ? ops::RecurrenceKind::rnn_relu : ops::RecurrenceKind::rnn_tanh);
}

ValueId lstm(const DescribedLayer& layer, const LayerPlace& p) {
  return recurrent(layer, p, ops::RecurrenceKind::lstm);
}

ValueId gru(const DescribedLayer& layer, const LayerPlace& p) {
  return recurrent(layer, p, ops::RecurrenceKind::gru);
}

}  // namespace

LayerRules sequence_rules() {
  const std::vector<std::string> walked = {"out", "layers", "bidirectional", "dropout", "sequence"};
  std::vector<std::string> of_rnn = walked;
  of_rnn.emplace_back("activation");
  return {
      {"embedding", {.attributes = {"rows", "out"}, .has_weights = true, .add = embedding}},
      {"rnn", {.attributes = of_rnn, .has_weights = true, .add = rnn}},
      {"lstm", {.attributes = walked, .has_weights = true, .add = lstm}},
      {"gru", {.attributes = walked, .has_weights = true, .add = gru}},
  };
}

}  // namespace syrtos::nn
