#include "syrtos/ops/softmax.h"

#include <fmt/format.h>

namespace syrtos::ops {

namespace {

void require_classes(const Op& op, const TensorType& type, std::string_view what) {
  if (type.shape.rank() < 1 || type.shape.elements() < 1) {
    fail_shape(op, fmt::format("expected {} [..., classes], found {}", what, to_string(type)));
  }
}

}  // namespace

std::string_view Softmax::name() const { return log ? "log_softmax" : "softmax"; }

// src [..., classes] -> dst [..., classes]
std::vector<TensorType> Softmax::infer(std::span<const TensorType> inputs) const {
  require_inputs(*this, inputs, 1);
  require_float(*this, inputs[0], "src");
  require_classes(*this, inputs[0], "src");
  return {inputs[0]};
}

std::vector<ValueId> Softmax::gradient(GraphBuilder& graph, std::span<const ValueId> /*inputs*/,
                                       std::span<const ValueId> outputs,
                                       std::span<const ValueId> output_gradients) const {
  return {graph.add_one(std::make_shared<SoftmaxBackward>(log), {outputs[0], output_gradients[0]})};
}

std::string_view SoftmaxBackward::name() const {
  return log ? "log_softmax.backward" : "softmax.backward";
}

std::vector<TensorType> SoftmaxBackward::infer(std::span<const TensorType> inputs) const {
  require_inputs(*this, inputs, 2);
  require_float(*this, inputs[0], "dst");
  require_classes(*this, inputs[0], "dst");
  require_same(*this, inputs[0], inputs[1]);
  return {inputs[0]};
}

}  // namespace syrtos::ops
