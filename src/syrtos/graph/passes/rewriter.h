#pragma once

#include <initializer_list>
#include <vector>

#include "syrtos/graph/graph.h"

namespace syrtos::graph {

/// The nodes of a graph while a pass changes them, with who uses what. A node is known by its slot
/// in the order; slots become empty, and a new node takes an old slot. commit() writes the result
/// back to the graph.
class Rewriter {
 public:
  explicit Rewriter(Graph& graph);

  NodeId slots() const { return static_cast<NodeId>(nodes_.size()); }
  /// nullptr for kNone and for an empty slot.
  const Node* node(NodeId slot) const;
  /// The operation in a slot if it is of that class, else nullptr.
  template <typename OpType>
  const OpType* op(NodeId slot) const {
    const Node* found = node(slot);
    return found == nullptr ? nullptr : dynamic_cast<const OpType*>(found->op.get());
  }
  /// kNone for what is given.
  NodeId producer(ValueId value) const { return producers_[static_cast<size_t>(value)]; }
  /// A slot appears as often as its node uses the value.
  const std::vector<NodeId>& users(ValueId value) const {
    return users_[static_cast<size_t>(value)];
  }
  const TensorType& type(ValueId value) const { return graph_.type(value); }
  bool is_output(ValueId value) const;
  bool is_gradient(ValueId value) const;
  /// Used by one input of one node, and neither an output nor a gradient.
  bool used_once(ValueId value) const;

  ValueId add_value(TensorType type);
  void remove(NodeId slot);
  /// Puts a node into a slot instead of what is there.
  void put(NodeId slot, Node node);
  /// Puts `node` where the last of its parts stood (or an earlier one, if its outputs are needed
  /// before) and removes the parts. False, and nothing changes, where no place would do.
  bool fuse(std::initializer_list<NodeId> parts, Node node);
  /// Everyone who uses `from` uses `to` instead, outputs and gradients included.
  void replace_value(ValueId from, ValueId to);

  void commit();

 private:
  bool fits(NodeId slot, std::initializer_list<NodeId> parts, const Node& node) const;
  void link(NodeId slot);

  Graph& graph_;
  std::vector<Node> nodes_;  ///< op is nullptr in an empty slot
  std::vector<NodeId> producers_;
  std::vector<std::vector<NodeId>> users_;
};

}  // namespace syrtos::graph
