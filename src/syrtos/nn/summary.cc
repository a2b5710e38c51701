#include "syrtos/nn/summary.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <set>

#include "syrtos/base/format.h"
#include "syrtos/ops/recurrence.h"

namespace syrtos::nn {
namespace {

Shape without_batch(const Shape& shape) {
  return Shape(std::span<const int64_t>(shape.begin() + 1, shape.end()));
}

std::string by_x(const Shape& shape) { return fmt::format("{}", fmt::join(shape, "x")); }

// "1.81 G": the digits below say nothing about a network.
std::string rough(int64_t count) {
  constexpr std::array<const char*, 5> kUnits = {"", "k", "M", "G", "T"};
  auto value = static_cast<double>(count);
  size_t unit = 0;
  while (value >= 999.5 && unit + 1 < kUnits.size()) {
    value /= 1000;
    ++unit;
  }
  if (unit == 0) return fmt::format("{}", count);
  return fmt::format("{:.{}f} {}", value, value < 9.995 ? 2 : value < 99.95 ? 1 : 0, kUnits[unit]);
}

using Row = std::vector<std::string>;

// Columns as wide as their widest cell; those in `right` hold numbers.
std::string table(const std::vector<Row>& rows, const std::set<size_t>& right) {
  std::vector<size_t> widths(rows.front().size());
  for (const Row& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const Row& row : rows) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      if (i > 0) line += "  ";
      line += right.contains(i) ? fmt::format("{:>{}}", row[i], widths[i])
                                : fmt::format("{:<{}}", row[i], widths[i]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + '\n';
  }
  return text;
}

/// Those that no layer before it has: `seen` are theirs, and get this node's.
int64_t parameters_of(const graph::Graph& graph, const graph::Node& node, std::set<ValueId>& seen) {
  int64_t count = 0;
  for (const ValueId input : node.inputs) {
    if (input == graph::kNone || graph.value(input).kind != graph::ValueKind::parameter) continue;
    if (!seen.insert(input).second) continue;
    count += graph.type(input).shape.elements();
  }
  return count;
}

}  // namespace

ModelSummary summarize(const Model& model) {
  const graph::Graph& graph = model.graph;
  const Shape& images = graph.type(model.images).shape;
  ModelSummary summary;
  summary.name = model.name;
  summary.input = without_batch(images);
  summary.classes = graph.type(model.logits).shape[1];
  summary.parameters = parameter_count(graph);
  summary.multiply_adds = multiply_adds(graph);
  std::set<ValueId> seen;
  const graph::Node* previous = nullptr;
  for (const graph::Node& node : graph.nodes()) {
    if (node.phase != graph::Phase::forward) continue;
    if (previous == nullptr || previous->name != node.name) {
      summary.layers.push_back({.name = node.name, .operation = std::string(node.op->name())});
    }
    previous = &node;
    LayerSummary& layer = summary.layers.back();
    // What is moved before it says less.
    if (dynamic_cast<const ops::Recurrence*>(node.op.get()) != nullptr) {
      layer.operation = std::string(node.op->name());
    }
    const Shape& output = graph.type(node.outputs[0]).shape;
    // A loss has no batch.
    layer.output = output.rank() > 1 ? without_batch(output) : output;
    layer.parameters += parameters_of(graph, node, seen);
    layer.multiply_adds += multiply_adds(graph, node) / images[0];
  }
  return summary;
}

std::string models_table(const std::vector<Network>& networks) {
  std::vector<Row> rows = {
      {"network", "parameters", "multiply-adds", "input", "classes", "what it is"}};
  for (const Network& network : networks) {
    const NetworkInfo& info = network.info();
    const Model model = network.build(network.default_options());
    rows.push_back({info.name, format_count(parameter_count(model.graph)),
                    rough(multiply_adds(model.graph)),
                    by_x(without_batch(model.graph.type(model.images).shape)),
                    std::to_string(info.classes), info.description});
  }
  return table(rows, {1, 2, 4});
}

std::string model_table(const Network& network, const ModelOptions& given) {
  const NetworkInfo& info = network.info();
  ModelOptions options = given;
  // The table is for one image, but batch norm has no training of a single value.
  if (options.batch == 1) options.batch = 2;
  const ModelSummary summary = summarize(network.build(options));
  std::vector<Row> rows = {{"layer", "operation", "output", "parameters", "multiply-adds"}};
  const auto count_or_blank = [](int64_t count) {
    return count == 0 ? std::string() : format_count(count);
  };
  for (const LayerSummary& layer : summary.layers) {
    rows.push_back({layer.name, layer.operation, by_x(layer.output),
                    count_or_blank(layer.parameters), count_or_blank(layer.multiply_adds)});
  }
  return fmt::format(
      "{}: {} ({})\ninput {}, {} {}, {} parameters, {} multiply-adds for one sample\n\n{}",
      network.name(), info.description, info.source, by_x(summary.input), summary.classes,
      summary.classes == 1 ? "class" : "classes", format_count(summary.parameters),
      format_count(summary.multiply_adds), table(rows, {3, 4}));
}

}  // namespace syrtos::nn
