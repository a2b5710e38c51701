#include "syrtos/ops/activation.h"

namespace syrtos::ops {

std::string_view Activation::name() const {
  switch (kind) {
    case ActivationKind::relu:
      return "relu";
    case ActivationKind::sigmoid:
      return "sigmoid";
    case ActivationKind::tanh:
      return "tanh";
  }
  return "activation";
}

std::vector<TensorType> Activation::infer(std::span<const TensorType> inputs) const {
  require_inputs(*this, inputs, 1);
  require_float(*this, inputs[0], "src");
  return {inputs[0]};
}

std::vector<ValueId> Activation::gradient(GraphBuilder& graph, std::span<const ValueId> /*inputs*/,
                                          std::span<const ValueId> outputs,
                                          std::span<const ValueId> output_gradients) const {
  return {
      graph.add_one(std::make_shared<ActivationBackward>(kind), {outputs[0], output_gradients[0]})};
}

std::string_view ActivationBackward::name() const {
  switch (kind) {
    case ActivationKind::relu:
      return "relu.backward";
    case ActivationKind::sigmoid:
      return "sigmoid.backward";
    case ActivationKind::tanh:
      return "tanh.backward";
  }
  return "activation.backward";
}

std::vector<TensorType> ActivationBackward::infer(std::span<const TensorType> inputs) const {
  require_inputs(*this, inputs, 2);
  require_float(*this, inputs[0], "dst");
  require_same(*this, inputs[0], inputs[1]);
  return {inputs[0]};
}

}  // namespace syrtos::ops
