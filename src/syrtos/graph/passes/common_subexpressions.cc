#include <fmt/ranges.h>

#include <map>

#include "syrtos/graph/passes.h"
#include "syrtos/graph/passes/rewriter.h"

namespace syrtos::graph {

namespace {

bool are_two_gradients(const Rewriter& rewriter, const Node& a, const Node& b) {
  for (size_t i = 0; i < a.outputs.size(); ++i) {
    if (rewriter.is_gradient(a.outputs[i]) && rewriter.is_gradient(b.outputs[i])) return true;
  }
  return false;
}

}  // namespace

void eliminate_common_subexpressions(Graph& graph) {
  Rewriter rewriter(graph);
  // Inputs were replaced already when a node is reached, so equal keys mean equal values.
  std::map<std::string, NodeId> known;
  for (NodeId slot = 0; slot < rewriter.slots(); ++slot) {
    const Node node = *rewriter.node(slot);
    if (node.op->has_side_effects()) continue;
    const std::string key = fmt::format("{}|{}|{}", node.op->name(), node.op->attributes(),
                                        fmt::join(node.inputs, ","));
    const auto [entry, is_new] = known.emplace(key, slot);
    if (is_new) continue;
    const Node& first = *rewriter.node(entry->second);
    if (are_two_gradients(rewriter, first, node)) continue;
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      rewriter.replace_value(node.outputs[i], first.outputs[i]);
    }
    rewriter.remove(slot);
  }
  rewriter.commit();
}

}  // namespace syrtos::graph
