#include "syrtos/graph/passes.h"

#include <algorithm>

namespace syrtos::graph {

void prune(Graph& graph) {
  std::vector<bool> needed(graph.values().size());
  const auto need = [&](ValueId value) {
    if (value != kNone) needed[static_cast<size_t>(value)] = true;
  };
  for (const auto& [name, value] : graph.outputs()) need(value);
  for (const ParameterGradient& pair : graph.gradients()) need(pair.gradient);

  // Users come after producers, so one walk back finds everything.
  std::vector<Node> kept;
  for (auto node = graph.nodes().rbegin(); node != graph.nodes().rend(); ++node) {
    const bool used = std::any_of(node->outputs.begin(), node->outputs.end(), [&](ValueId output) {
      return needed[static_cast<size_t>(output)];
    });
    if (!used) continue;
    for (const ValueId input : node->inputs) need(input);
    kept.push_back(*node);
  }
  std::reverse(kept.begin(), kept.end());
  graph.set_nodes(std::move(kept));
}

}  // namespace syrtos::graph
