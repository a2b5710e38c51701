#include "syrtos/ops/softmax.h"

namespace syrtos::ops {

std::string_view Softmax::name() const { return log ? "log_softmax" : "softmax"; }

// src [rows, classes] -> dst [rows, classes]
std::vector<TensorType> Softmax::infer(std::span<const TensorType> inputs) const {
  require_inputs(*this, inputs, 1);
  require_float(*this, inputs[0], "src");
  require_rank(*this, inputs[0], 2, "src");
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
  require_rank(*this, inputs[0], 2, "dst");
  require_same(*this, inputs[0], inputs[1]);
  return {inputs[0]};
}

}  // namespace syrtos::ops
