#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "syrtos/ops/op.h"

namespace syrtos::graph {

using ops::kNone;
using ops::ValueId;
using NodeId = int32_t;

enum class ValueKind {
  input,      ///< given anew for each step: images, labels
  parameter,  ///< trained, unless it is frozen; has a gradient then
  state,      ///< kept between steps but not trained: running statistics
  computed,   ///< the output of a node
};

enum class Phase { forward, backward };

struct Value {
  TensorType type;
  ValueKind kind = ValueKind::computed;
  std::string name;         ///< "layer1.0.conv1.weight"; empty for most computed values
  NodeId producer = kNone;  ///< of a computed value
  float decay = 0;          ///< parameters: times the weight decay (1 for kernels, not for biases)
  float rate = 1;           ///< parameters: times the learning rate; 0 when frozen

  /// Of a parameter of which this graph has only some rows: those that all of it has, and how many
  /// lie before these. 0: it has all of them.
  int64_t whole_rows = 0;
  int64_t first_row = 0;

  bool frozen() const { return kind == ValueKind::parameter && rate == 0; }
  bool is_part() const { return whole_rows > 0; }
  TensorType whole_type() const;
  /// Of its rows, in the whole.
  size_t first_element() const;
};

struct Node {
  std::shared_ptr<const ops::Op> op;
  std::vector<ValueId> inputs;  ///< kNone where an optional input is absent
  std::vector<ValueId> outputs;
  std::string name;  ///< the layer it belongs to, "layer1.0.conv1"
  Phase phase = Phase::forward;
};

/// A gradient that the graph computes: `gradient` has the shape of `parameter`.
struct ParameterGradient {
  ValueId parameter;
  ValueId gradient;
};

/// Operations on values with shapes, in an order in which they can run: a node only uses values
/// that exist already. Layers add to it, gradients() extends it, passes make new ones from it.
class Graph : public ops::GraphBuilder {
 public:
  ValueId add_input(std::string name, TensorType type);
  ValueId add_parameter(std::string name, TensorType type, float decay, float rate = 1);
  ValueId add_state(std::string name, TensorType type);
  /// The parameter keeps its value: it gets no gradient, and what only it would need is not
  /// computed. Before add_gradients().
  void freeze(ValueId parameter);
  /// From now on it is these rows of the parameter alone. Before anything uses it with that shape.
  void take_rows(ValueId parameter, int64_t first, int64_t count);

  const TensorType& type(ValueId value) const override;
  std::vector<ValueId> add(std::shared_ptr<const ops::Op> op,
                           std::span<const ValueId> inputs) override;

  /// Names a value that must survive pruning and can be read after a run; a name that exists
  /// already then means the new value.
  void set_output(std::string name, ValueId value);
  /// What the nodes added from now on belong to.
  void set_scope(std::string name) { scope_ = std::move(name); }
  void set_phase(Phase phase) { phase_ = phase; }
  const std::string& scope() const { return scope_; }
  Phase phase() const { return phase_; }

  const std::vector<Value>& values() const { return values_; }
  const std::vector<Node>& nodes() const { return nodes_; }
  const std::vector<std::pair<std::string, ValueId>>& outputs() const { return outputs_; }
  std::vector<ParameterGradient>& gradients() { return gradients_; }
  const std::vector<ParameterGradient>& gradients() const { return gradients_; }
  std::vector<ValueId> values_of(ValueKind kind) const;
  const Value& value(ValueId id) const { return values_[static_cast<size_t>(id)]; }
  /// The output or input of that name; kNone when there is none.
  ValueId find(std::string_view name) const;

  /// For passes: replaces the nodes; the values stay. Checks that the order is valid and puts the
  /// gradients into the order in which they are finished now.
  void set_nodes(std::vector<Node> nodes);
  /// For passes: a value whose node comes with the next set_nodes().
  ValueId add_computed(TensorType type);
  void order_gradients();

 private:
  ValueId add_value(Value value);

  std::vector<Value> values_;
  std::vector<Node> nodes_;
  std::vector<std::pair<std::string, ValueId>> outputs_;
  std::vector<ParameterGradient> gradients_;
  std::string scope_;
  Phase phase_ = Phase::forward;
};

/// Extends the graph by the gradients of `loss` (shape [1]) for every parameter it depends on: a
/// walk back over the nodes that applies each operation's rule and adds up where a value is used
/// more than once. The result is in graph.gradients(), in the order in which they are finished.
/// Returns, for each node of the graph, the node that it came from: itself, or of the new ones the
/// one whose gradient it is part of.
std::vector<NodeId> add_gradients(Graph& graph, ValueId loss);

}  // namespace syrtos::graph
