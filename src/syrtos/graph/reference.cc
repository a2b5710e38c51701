#include "syrtos/graph/reference.h"

#include "syrtos/base/error.h"

namespace syrtos::graph {

std::map<ValueId, ops::RefTensor> evaluate_reference(const Graph& graph,
                                                     std::map<ValueId, ops::RefTensor> given,
                                                     const ops::Step& step) {
  for (size_t i = 0; i < graph.values().size(); ++i) {
    const Value& value = graph.values()[i];
    if (value.kind == ValueKind::computed) continue;
    const auto found = given.find(static_cast<ValueId>(i));
    SYRTOS_CHECK(found != given.end(), "no value for {}", value.name);
    SYRTOS_CHECK(found->second.shape == value.type.shape, "{} is {}, given was {}", value.name,
                 to_string(value.type), to_string(found->second.shape));
  }
  for (const Node& node : graph.nodes()) {
    std::vector<ops::RefTensor> inputs;
    for (const ValueId input : node.inputs) {
      inputs.push_back(input == kNone ? ops::RefTensor() : given.at(input));
    }
    std::vector<ops::RefTensor> outputs;
    for (const ValueId output : node.outputs) outputs.emplace_back(graph.type(output).shape);
    node.op->reference(inputs, outputs, step);
    for (size_t i = 0; i < outputs.size(); ++i) {
      given.insert_or_assign(node.outputs[i], std::move(outputs[i]));
    }
  }
  return given;
}

}  // namespace syrtos::graph
