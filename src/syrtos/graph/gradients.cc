#include <algorithm>

#include "syrtos/base/error.h"
#include "syrtos/graph/graph.h"
#include "syrtos/ops/arithmetic.h"
#include "syrtos/ops/cast.h"

namespace syrtos::graph {

namespace {

// The walk goes from the last forward node to the first. `pieces` collects, for each value, the
// gradients that its users contributed so far; since users come after producers, the pieces of a
// node's outputs are complete when the walk reaches it, and those of a parameter when it has passed
// the parameter's first user. There they are added up, so that a gradient is finished (and can be
// sent away) as early as possible.
class Backward {
 public:
  Backward(Graph& graph, ValueId loss)
      : graph_(graph),
        forward_nodes_(static_cast<NodeId>(graph.nodes().size())),
        pieces_(graph.values().size()) {
    find_dependents();
    auto one = std::make_shared<ops::Constant>();
    one->type = graph.type(loss);
    one->value = 1;
    graph_.set_scope(graph_.value(loss).producer == kNone ? std::string()
                                                          : node(graph_.value(loss).producer).name);
    for (NodeId id = 0; id < forward_nodes_; ++id) origins_.push_back(id);
    contribute(loss, graph_.add_one(one, {}));
    note_origin(graph_.value(loss).producer);
  }

  std::vector<NodeId> run() {
    for (NodeId id = forward_nodes_ - 1; id >= 0; --id) {
      // A copy: adding nodes moves the graph's own.
      const Node node = this->node(id);
      graph_.set_scope(node.name);
      if (wants_gradient(node)) apply_rule(node);
      finish_parameters(id, node);
      note_origin(id);
    }
    graph_.order_gradients();
    return std::move(origins_);
  }

 private:
  /// Whatever was added since the last call came from this node.
  void note_origin(NodeId id) { origins_.resize(graph_.nodes().size(), id); }

  const Node& node(NodeId id) const { return graph_.nodes()[static_cast<size_t>(id)]; }
  bool depends(ValueId value) const { return depends_[static_cast<size_t>(value)]; }

  /// Which values depend on a parameter that is trained, and which node uses each value first.
  void find_dependents() {
    depends_.assign(graph_.values().size(), false);
    first_user_.assign(graph_.values().size(), kNone);
    for (const ValueId parameter : graph_.values_of(ValueKind::parameter)) {
      depends_[static_cast<size_t>(parameter)] = !graph_.value(parameter).frozen();
    }
    for (NodeId id = 0; id < forward_nodes_; ++id) {
      bool any = false;
      for (const ValueId input : node(id).inputs) {
        if (input == kNone) continue;
        any = any || depends(input);
        NodeId& first = first_user_[static_cast<size_t>(input)];
        if (first == kNone) first = id;
      }
      for (const ValueId output : node(id).outputs) depends_[static_cast<size_t>(output)] = any;
    }
  }

  bool wants_gradient(const Node& node) const {
    const auto used = [&](ValueId v) { return !pieces_[static_cast<size_t>(v)].empty(); };
    const auto needed = [&](ValueId v) { return v != kNone && depends(v); };
    return std::any_of(node.outputs.begin(), node.outputs.end(), used) &&
           std::any_of(node.inputs.begin(), node.inputs.end(), needed);
  }

  // Rules may give f32 for a bf16 value, or bf16 for a parameter; gradients of parameters are f32,
  // all others of their value's type.
  void contribute(ValueId value, ValueId gradient) {
    if (value == kNone || gradient == kNone || !depends(value)) return;
    const bool parameter = graph_.value(value).kind == ValueKind::parameter;
    const DType dtype = parameter ? DType::f32 : graph_.type(value).dtype;
    if (graph_.type(gradient).dtype != dtype) {
      gradient = graph_.add_one(std::make_shared<ops::Cast>(dtype), {gradient});
    }
    pieces_[static_cast<size_t>(value)].push_back(gradient);
  }

  /// The gradient of a value: its only piece, or one sum of all; kNone when nobody contributed.
  ValueId total(ValueId value) {
    const std::vector<ValueId>& pieces = pieces_[static_cast<size_t>(value)];
    if (pieces.empty()) return kNone;
    if (pieces.size() == 1) return pieces[0];
    return graph_.add(std::make_shared<ops::Add>(), pieces)[0];
  }

  void apply_rule(const Node& node) {
    std::vector<ValueId> output_gradients;
    for (const ValueId output : node.outputs) output_gradients.push_back(total(output));
    // Rules know of no others, and would leave out their share.
    for (size_t i = 1; i < output_gradients.size(); ++i) {
      SYRTOS_CHECK(output_gradients[i] == kNone, "[{}] has a gradient of its first result alone",
                   node.op->name());
    }
    const auto gradients = node.op->gradient(graph_, node.inputs, node.outputs, output_gradients);
    SYRTOS_CHECK(gradients.size() == node.inputs.size(), "[{}] gave {} gradients for {} inputs",
                 node.op->name(), gradients.size(), node.inputs.size());
    for (size_t i = 0; i < gradients.size(); ++i) contribute(node.inputs[i], gradients[i]);
  }

  void finish_parameters(NodeId id, const Node& node) {
    for (const ValueId input : node.inputs) {
      if (input == kNone || first_user_[static_cast<size_t>(input)] != id) continue;
      if (graph_.value(input).kind != ValueKind::parameter) continue;
      first_user_[static_cast<size_t>(input)] = kNone;  // once, also when it is used twice here
      if (const ValueId gradient = total(input); gradient != kNone) finish(input, gradient);
    }
  }

  void finish(ValueId parameter, ValueId gradient) {
    const TensorType expected{DType::f32, graph_.type(parameter).shape};
    if (!(graph_.type(gradient) == expected)) {
      fail_request("the gradient of {} must be {}, found {}", graph_.value(parameter).name,
                   to_string(expected), to_string(graph_.type(gradient)));
    }
    // Each parameter has its own slice of the gradients, so no two share a value.
    auto& known = graph_.gradients();
    const bool shared = std::any_of(known.begin(), known.end(), [&](const ParameterGradient& g) {
      return g.gradient == gradient;
    });
    if (shared) gradient = graph_.add_one(std::make_shared<ops::Scale>(1.0F), {gradient});
    known.push_back({parameter, gradient});
  }

  Graph& graph_;
  NodeId forward_nodes_;
  std::vector<std::vector<ValueId>> pieces_;  ///< by forward value
  std::vector<bool> depends_;
  std::vector<NodeId> first_user_;
  std::vector<NodeId> origins_;  ///< by node
};

}  // namespace

std::vector<NodeId> add_gradients(Graph& graph, ValueId loss) {
  if (!(graph.type(loss).shape == Shape{1})) {
    fail_request("gradients need a loss of shape [1], found {}", to_string(graph.type(loss)));
  }
  SYRTOS_CHECK(graph.gradients().empty(), "gradients are added once");
  const std::string scope = graph.scope();
  const Phase phase = graph.phase();
  graph.set_phase(Phase::backward);
  std::vector<NodeId> origins = Backward(graph, loss).run();
  graph.set_phase(phase);
  graph.set_scope(scope);
  return origins;
}

}  // namespace syrtos::graph
