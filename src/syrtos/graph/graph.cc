#include "syrtos/graph/graph.h"

#include <algorithm>

#include "syrtos/base/error.h"
#include "syrtos/tensor/extents.h"

namespace syrtos::graph {

ValueId Graph::add_value(Value value) {
  values_.push_back(std::move(value));
  return static_cast<ValueId>(values_.size() - 1);
}

ValueId Graph::add_input(std::string name, TensorType type) {
  return add_value({type, ValueKind::input, std::move(name), kNone});
}

ValueId Graph::add_parameter(std::string name, TensorType type, float decay, float rate) {
  for (const Value& value : values_) {
    SYRTOS_CHECK(value.kind != ValueKind::parameter || value.name != name, "{} twice", name);
  }
  return add_value({type, ValueKind::parameter, std::move(name), kNone, decay, rate});
}

ValueId Graph::add_state(std::string name, TensorType type) {
  return add_value({type, ValueKind::state, std::move(name), kNone});
}

void Graph::freeze(ValueId parameter) {
  Value& value = values_[static_cast<size_t>(parameter)];
  SYRTOS_CHECK(value.kind == ValueKind::parameter && gradients_.empty(), "{}", value.name);
  value.rate = 0;
  value.decay = 0;
}

ValueId Graph::add_computed(TensorType type) {
  return add_value({type, ValueKind::computed, {}, kNone});
}

const TensorType& Graph::type(ValueId value) const {
  SYRTOS_CHECK(value >= 0 && static_cast<size_t>(value) < values_.size(),
               "there is no value {} among {}", value, values_.size());
  return values_[static_cast<size_t>(value)].type;
}

std::vector<ValueId> Graph::add(std::shared_ptr<const ops::Op> op,
                                std::span<const ValueId> inputs) {
  std::vector<TensorType> input_types;
  for (const ValueId input : inputs) {
    input_types.push_back(input == kNone ? TensorType{} : type(input));
  }
  std::vector<TensorType> output_types;
  try {
    output_types = op->infer(input_types);
    for (const TensorType& output : output_types) {
      if (is_countable(output.shape)) continue;
      fail_request("[{}] expected a result of positive extents and at most {} elements, found {}",
                   op->name(), kMaxElements, to_string(output));
    }
  } catch (const RequestError& error) {
    if (scope_.empty()) throw;
    throw RequestError(fmt::format("{}: {}", scope_, error.what()));
  }
  const auto id = static_cast<NodeId>(nodes_.size());
  Node node{std::move(op), {inputs.begin(), inputs.end()}, {}, scope_, phase_};
  for (const TensorType& output : output_types) {
    node.outputs.push_back(add_value({output, ValueKind::computed, {}, id}));
  }
  nodes_.push_back(std::move(node));
  return nodes_.back().outputs;
}

TensorType Value::whole_type() const {
  TensorType whole = type;
  if (is_part()) whole.shape[0] = whole_rows;
  return whole;
}

size_t Value::first_element() const {
  if (!is_part()) return 0;
  return static_cast<size_t>(first_row * (type.shape.elements() / type.shape[0]));
}

void Graph::take_rows(ValueId parameter, int64_t first, int64_t count) {
  Value& value = values_[static_cast<size_t>(parameter)];
  SYRTOS_CHECK(value.kind == ValueKind::parameter && !value.is_part() && count > 0 && first >= 0 &&
                   first + count <= value.type.shape[0],
               "rows {} to {} of {}", first, first + count, value.name);
  value.whole_rows = value.type.shape[0];
  value.first_row = first;
  value.type.shape[0] = count;
}

void Graph::set_output(std::string name, ValueId value) {
  type(value);  // checks that it exists
  for (auto& [known, id] : outputs_) {
    if (known == name) {
      id = value;
      return;
    }
  }
  outputs_.emplace_back(std::move(name), value);
}

std::vector<ValueId> Graph::values_of(ValueKind kind) const {
  std::vector<ValueId> ids;
  for (size_t i = 0; i < values_.size(); ++i) {
    if (values_[i].kind == kind) ids.push_back(static_cast<ValueId>(i));
  }
  return ids;
}

ValueId Graph::find(std::string_view name) const {
  for (const auto& [known, id] : outputs_) {
    if (known == name) return id;
  }
  for (size_t i = 0; i < values_.size(); ++i) {
    if (values_[i].kind != ValueKind::computed && values_[i].name == name) {
      return static_cast<ValueId>(i);
    }
  }
  return kNone;
}

void Graph::set_nodes(std::vector<Node> nodes) {
  std::vector<bool> exists(values_.size());
  for (size_t i = 0; i < values_.size(); ++i) {
    values_[i].producer = kNone;
    exists[i] = values_[i].kind != ValueKind::computed;
  }
  for (size_t n = 0; n < nodes.size(); ++n) {
    for (const ValueId input : nodes[n].inputs) {
      SYRTOS_CHECK(input == kNone || exists[static_cast<size_t>(input)],
                   "node {} ({}) uses value {} before it is computed", n, nodes[n].op->name(),
                   input);
    }
    for (const ValueId output : nodes[n].outputs) {
      SYRTOS_CHECK(!exists[static_cast<size_t>(output)], "node {} ({}) computes value {} again", n,
                   nodes[n].op->name(), output);
      exists[static_cast<size_t>(output)] = true;
      values_[static_cast<size_t>(output)].producer = static_cast<NodeId>(n);
    }
  }
  for (const auto& [name, id] : outputs_) {
    SYRTOS_CHECK(exists[static_cast<size_t>(id)], "output {} is not computed any more", name);
  }
  for (const ParameterGradient& gradient : gradients_) {
    SYRTOS_CHECK(exists[static_cast<size_t>(gradient.gradient)],
                 "the gradient of {} is not computed any more", value(gradient.parameter).name);
  }
  nodes_ = std::move(nodes);
  order_gradients();
}

void Graph::order_gradients() {
  std::stable_sort(gradients_.begin(), gradients_.end(),
                   [&](const ParameterGradient& a, const ParameterGradient& b) {
                     return value(a.gradient).producer < value(b.gradient).producer;
                   });
}

}  // namespace syrtos::graph
