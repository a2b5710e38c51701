#include "syrtos/graph/print.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <set>

namespace syrtos::graph {

namespace {

const char* to_string(Phase phase) { return phase == Phase::forward ? "forward" : "backward"; }

std::string operation_text(const Node& node) {
  const std::string attributes = node.op->attributes();
  return std::string(node.op->name()) + (attributes.empty() ? "" : " ") + attributes;
}

/// "conv1.weight f32[64, 3, 7, 7]" or "%12 f32[42, 64, 8, 8]"
std::string value_text(const Graph& graph, ValueId id) {
  if (id == kNone) return "-";
  const Value& value = graph.value(id);
  const std::string name = value.name.empty() ? fmt::format("%{}", id) : value.name;
  return name + " " + to_string(value.type);
}

std::string flow_text(const Graph& graph, const Node& node) {
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
  for (const ValueId id : node.inputs) inputs.push_back(value_text(graph, id));
  for (const ValueId id : node.outputs) outputs.push_back(value_text(graph, id));
  return fmt::format("{}{}-> {}", fmt::join(inputs, ", "), inputs.empty() ? "" : " ",
                     fmt::join(outputs, ", "));
}

double megaflops(const Graph& graph, const Node& node) {
  std::vector<TensorType> inputs;
  std::vector<TensorType> outputs;
  for (const ValueId id : node.inputs) {
    inputs.push_back(id == kNone ? TensorType{} : graph.type(id));
  }
  for (const ValueId id : node.outputs) outputs.push_back(graph.type(id));
  return node.op->flops(inputs, outputs) / 1e6;
}

constexpr size_t kColumns = 6;
using Row = std::array<std::string, kColumns>;

Row row_of(const Graph& graph, size_t index) {
  const Node& node = graph.nodes()[index];
  const double flops = megaflops(graph, node);
  return {std::to_string(index),
          to_string(node.phase),
          node.name,
          operation_text(node),
          flops == 0 ? "" : fmt::format("{:.2f}", flops),
          flow_text(graph, node)};
}

/// In quotes, for Graphviz.
std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += c;
  }
  return result + "\"";
}

const char* shape_of(ValueKind kind) {
  switch (kind) {
    case ValueKind::input:
      return "invhouse";
    case ValueKind::parameter:
      return "ellipse";
    case ValueKind::state:
      return "cylinder";
    case ValueKind::computed:
      return "point";
  }
  return "box";
}

std::string dot_node(const Graph& graph, size_t index) {
  const Node& node = graph.nodes()[index];
  const std::string label = (node.name.empty() ? "" : node.name + ": ") + operation_text(node);
  const char* colour = node.phase == Phase::forward ? "lightblue" : "lightsalmon";
  std::string text = fmt::format("  n{} [label={}, fillcolor={}];\n", index, quoted(label), colour);
  for (const ValueId id : node.inputs) {
    if (id == kNone) continue;
    const NodeId producer = graph.value(id).producer;
    const std::string from =
        producer == kNone ? fmt::format("v{}", id) : fmt::format("n{}", producer);
    text += fmt::format("  {} -> n{} [label={}];\n", from, index,
                        quoted(syrtos::to_string(graph.type(id))));
  }
  return text;
}

}  // namespace

std::string to_table(const Graph& graph) {
  std::vector<Row> rows{{"#", "phase", "layer", "operation", "MFLOP", "inputs -> outputs"}};
  for (size_t i = 0; i < graph.nodes().size(); ++i) rows.push_back(row_of(graph, i));
  std::array<size_t, kColumns> widths{};
  for (const Row& row : rows) {
    for (size_t c = 0; c < kColumns; ++c) widths[c] = std::max(widths[c], row[c].size());
  }
  std::string text;
  for (const Row& row : rows) {
    text += fmt::format("{:>{}}  {:<{}}  {:<{}}  {:<{}}  {:>{}}  {}\n", row[0], widths[0], row[1],
                        widths[1], row[2], widths[2], row[3], widths[3], row[4], widths[4], row[5]);
  }
  return text;
}

std::string to_dot(const Graph& graph) {
  std::string text =
      "digraph syrtos {\n"
      "  node [shape=box, style=filled, fillcolor=white, fontname=monospace];\n"
      "  edge [fontname=monospace, fontsize=9];\n";
  std::set<ValueId> given;
  for (const Node& node : graph.nodes()) {
    for (const ValueId id : node.inputs) {
      if (id != kNone && graph.value(id).producer == kNone) given.insert(id);
    }
  }
  for (const ValueId id : given) {
    text += fmt::format("  v{} [label={}, shape={}];\n", id, quoted(graph.value(id).name),
                        shape_of(graph.value(id).kind));
  }
  for (size_t i = 0; i < graph.nodes().size(); ++i) text += dot_node(graph, i);
  for (const auto& [name, id] : graph.outputs()) {
    const NodeId producer = graph.value(id).producer;
    if (producer == kNone) continue;
    text += fmt::format("  o{0} [label={1}, shape=house];\n  n{2} -> o{0};\n", id, quoted(name),
                        producer);
  }
  return text + "}\n";
}

}  // namespace syrtos::graph
