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
  parameter,  ///< trained; has a gradient
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
  float rate = 1;           ///< parameters: times the learning rate
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
void add_gradients(Graph& graph, ValueId loss);

}  // namespace syrtos::graph
