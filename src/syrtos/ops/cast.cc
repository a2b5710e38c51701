#include "syrtos/ops/cast.h"

namespace syrtos::ops {

std::string Cast::attributes() const { return std::string("to ") + to_string(dtype); }

std::vector<TensorType> Cast::infer(std::span<const TensorType> inputs) const {
  require_inputs(*this, inputs, 1);
  require_float(*this, inputs[0], "src");
  const TensorType dst{dtype, inputs[0].shape};
  require_float(*this, dst, "dst");
  return {dst};
}

std::vector<ValueId> Cast::gradient(GraphBuilder& graph, std::span<const ValueId> inputs,
                                    std::span<const ValueId> /*outputs*/,
                                    std::span<const ValueId> output_gradients) const {
  return {
      graph.add_one(std::make_shared<Cast>(graph.type(inputs[0]).dtype), {output_gradients[0]})};
}

}  // namespace syrtos::ops
