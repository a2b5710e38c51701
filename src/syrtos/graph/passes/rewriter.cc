#include "syrtos/graph/passes/rewriter.h"

#include <algorithm>

#include "syrtos/base/error.h"

namespace syrtos::graph {

Rewriter::Rewriter(Graph& graph)
    : graph_(graph),
      nodes_(graph.nodes()),
      producers_(graph.values().size(), kNone),
      users_(graph.values().size()) {
  for (NodeId slot = 0; slot < slots(); ++slot) link(slot);
}

void Rewriter::link(NodeId slot) {
  const Node& node = nodes_[static_cast<size_t>(slot)];
  for (const ValueId input : node.inputs) {
    if (input != kNone) users_[static_cast<size_t>(input)].push_back(slot);
  }
  for (const ValueId output : node.outputs) producers_[static_cast<size_t>(output)] = slot;
}

const Node* Rewriter::node(NodeId slot) const {
  if (slot == kNone || nodes_[static_cast<size_t>(slot)].op == nullptr) return nullptr;
  return &nodes_[static_cast<size_t>(slot)];
}

bool Rewriter::is_output(ValueId value) const {
  return std::any_of(graph_.outputs().begin(), graph_.outputs().end(),
                     [&](const auto& output) { return output.second == value; });
}

bool Rewriter::is_gradient(ValueId value) const {
  return std::any_of(graph_.gradients().begin(), graph_.gradients().end(),
                     [&](const ParameterGradient& pair) { return pair.gradient == value; });
}

bool Rewriter::used_once(ValueId value) const {
  return users(value).size() == 1 && !is_output(value) && !is_gradient(value);
}

ValueId Rewriter::add_value(TensorType type) {
  producers_.push_back(kNone);
  users_.emplace_back();
  return graph_.add_computed(type);
}

void Rewriter::remove(NodeId slot) {
  Node& node = nodes_[static_cast<size_t>(slot)];
  for (const ValueId input : node.inputs) {
    if (input == kNone) continue;
    std::vector<NodeId>& users = users_[static_cast<size_t>(input)];
    users.erase(std::find(users.begin(), users.end(), slot));
  }
  for (const ValueId output : node.outputs) producers_[static_cast<size_t>(output)] = kNone;
  node = Node{};
}

void Rewriter::put(NodeId slot, Node node) {
  std::vector<TensorType> input_types;
  for (const ValueId input : node.inputs) {
    input_types.push_back(input == kNone ? TensorType{} : type(input));
  }
  const std::vector<TensorType> output_types = node.op->infer(input_types);
  SYRTOS_CHECK(output_types.size() == node.outputs.size(), "[{}] has {} outputs, found {}",
               node.op->name(), output_types.size(), node.outputs.size());
  for (size_t i = 0; i < output_types.size(); ++i) {
    SYRTOS_CHECK(output_types[i] == type(node.outputs[i]), "[{}] gives {} for {}", node.op->name(),
                 to_string(output_types[i]), to_string(type(node.outputs[i])));
  }
  if (this->node(slot) != nullptr) remove(slot);
  nodes_[static_cast<size_t>(slot)] = std::move(node);
  link(slot);
}

/// Whether all inputs exist before the slot and all users of the outputs come after it.
bool Rewriter::fits(NodeId slot, std::initializer_list<NodeId> parts, const Node& node) const {
  for (const ValueId input : node.inputs) {
    if (input != kNone && producer(input) >= slot) return false;
  }
  for (const ValueId output : node.outputs) {
    for (const NodeId user : users(output)) {
      const bool inner = std::find(parts.begin(), parts.end(), user) != parts.end();
      if (!inner && user <= slot) return false;
    }
  }
  return true;
}

bool Rewriter::fuse(std::initializer_list<NodeId> parts, Node node) {
  std::vector<NodeId> candidates(parts);
  std::sort(candidates.rbegin(), candidates.rend());
  for (const NodeId slot : candidates) {
    if (!fits(slot, parts, node)) continue;
    for (const NodeId part : parts) remove(part);
    put(slot, std::move(node));
    return true;
  }
  return false;
}

void Rewriter::replace_value(ValueId from, ValueId to) {
  std::vector<NodeId> moved;
  moved.swap(users_[static_cast<size_t>(from)]);
  for (const NodeId user : moved) {
    std::vector<ValueId>& inputs = nodes_[static_cast<size_t>(user)].inputs;
    std::replace(inputs.begin(), inputs.end(), from, to);
    users_[static_cast<size_t>(to)].push_back(user);
  }
  for (const auto& [name, value] : std::vector(graph_.outputs())) {
    if (value == from) graph_.set_output(name, to);
  }
  for (ParameterGradient& pair : graph_.gradients()) {
    if (pair.gradient == from) pair.gradient = to;
  }
}

void Rewriter::commit() {
  std::erase_if(nodes_, [](const Node& node) { return node.op == nullptr; });
  graph_.set_nodes(std::move(nodes_));
}

}  // namespace syrtos::graph
