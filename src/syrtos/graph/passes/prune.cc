#include "syrtos/graph/passes.h"

#include <algorithm>

namespace syrtos::graph {

std::vector<bool> needed_nodes(const Graph& graph) {
  std::vector<bool> needed(graph.values().size());
  const auto need = [&](ValueId value) {
    if (value != kNone) needed[static_cast<size_t>(value)] = true;
  };
  for (const auto& [name, value] : graph.outputs()) need(value);
  for (const ParameterGradient& pair : graph.gradients()) need(pair.gradient);

  // Users come after producers, so one walk back finds everything.
  std::vector<bool> nodes(graph.nodes().size());
  for (size_t n = nodes.size(); n-- > 0;) {
    const Node& node = graph.nodes()[n];
    nodes[n] = node.op->must_run() ||
               std::any_of(node.outputs.begin(), node.outputs.end(),
                           [&](ValueId output) { return needed[static_cast<size_t>(output)]; });
    if (!nodes[n]) continue;
    for (const ValueId input : node.inputs) need(input);
  }
  return nodes;
}

void prune(Graph& graph) {
  const std::vector<bool> needed = needed_nodes(graph);
  std::vector<Node> kept;
  for (size_t n = 0; n < needed.size(); ++n) {
    if (needed[n]) kept.push_back(graph.nodes()[n]);
  }
  graph.set_nodes(std::move(kept));
}

}  // namespace syrtos::graph
