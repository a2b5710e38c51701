#include "syrtos/ops/gelu.h"

namespace syrtos::ops {

std::vector<TensorType> Gelu::infer(std::span<const TensorType> inputs) const {
  require_inputs(*this, inputs, 1);
  require_float(*this, inputs[0], "src");
  return {inputs[0]};
}

std::vector<ValueId> Gelu::gradient(GraphBuilder& graph, std::span<const ValueId> inputs,
                                    std::span<const ValueId> /*outputs*/,
                                    std::span<const ValueId> output_gradients) const {
  return {graph.add_one(std::make_shared<GeluBackward>(), {inputs[0], output_gradients[0]})};
}

std::vector<TensorType> GeluBackward::infer(std::span<const TensorType> inputs) const {
  require_inputs(*this, inputs, 2);
  require_float(*this, inputs[0], "src");
  require_same(*this, inputs[0], inputs[1]);
  return {inputs[0]};
}

}  // namespace syrtos::ops
