#include "syrtos/graph/node_work.h"

#include <algorithm>

namespace syrtos::graph {

bool is_kept(const Graph& graph, ValueId value) {
  const ValueKind kind = graph.value(value).kind;
  return kind == ValueKind::parameter || kind == ValueKind::state;
}

bool has_weights(const Graph& graph, const Node& node) {
  return std::any_of(node.inputs.begin(), node.inputs.end(),
                     [&](ValueId input) { return input != kNone && is_kept(graph, input); });
}

double bytes_of(const Graph& graph, ValueId value) {
  return static_cast<double>(graph.type(value).bytes());
}

double work_of(const Graph& graph, const Node& node) {
  constexpr double kBackward = 2;     // times the work of forward
  constexpr double kWorkOfAByte = 4;  // a core computes so much while it moves a byte
  std::vector<TensorType> inputs;
  std::vector<TensorType> outputs;
  double bytes = 0;
  for (const ValueId input : node.inputs) {
    inputs.push_back(input == kNone ? TensorType{} : graph.type(input));
    if (input != kNone) bytes += bytes_of(graph, input);
  }
  for (const ValueId output : node.outputs) {
    outputs.push_back(graph.type(output));
    bytes += bytes_of(graph, output);
  }
  return (1 + kBackward) * (node.op->flops(inputs, outputs) + kWorkOfAByte * bytes);
}

}  // namespace syrtos::graph
