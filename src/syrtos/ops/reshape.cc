#include "syrtos/ops/reshape.h"

#include "syrtos/base/error.h"

namespace syrtos::ops {

std::string Reshape::attributes() const { return to_string(shape); }

std::vector<TensorType> Reshape::infer(std::span<const TensorType> inputs) const {
  require_inputs(*this, inputs, 1);
  if (inputs[0].shape.elements() != shape.elements()) {
    fail_shape(*this, fmt::format("src {} has {} elements, shape {} has {}", to_string(inputs[0]),
                                  inputs[0].shape.elements(), to_string(shape), shape.elements()));
  }
  return {{inputs[0].dtype, shape}};
}

std::vector<ValueId> Reshape::gradient(GraphBuilder& graph, std::span<const ValueId> inputs,
                                       std::span<const ValueId> /*outputs*/,
                                       std::span<const ValueId> output_gradients) const {
  return {
      graph.add_one(std::make_shared<Reshape>(graph.type(inputs[0]).shape), {output_gradients[0]})};
}

}  // namespace syrtos::ops
