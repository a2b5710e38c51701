#include "syrtos/ops/arithmetic.h"

#include "syrtos/base/error.h"

namespace syrtos::ops {

std::string Add::attributes() const { return relu ? "+relu" : ""; }

std::vector<TensorType> Add::infer(std::span<const TensorType> inputs) const {
  if (inputs.size() < 2) {
    fail_shape(*this, fmt::format("expected two or more inputs, found {}", inputs.size()));
  }
  require_float(*this, inputs[0], "src");
  for (const TensorType& input : inputs.subspan(1)) require_same(*this, inputs[0], input);
  return {inputs[0]};
}

std::vector<ValueId> Add::gradient(GraphBuilder& /*graph*/, std::span<const ValueId> inputs,
                                   std::span<const ValueId> /*outputs*/,
                                   std::span<const ValueId> output_gradients) const {
  SYRTOS_CHECK(!relu, "gradients are added before fusion");
  return std::vector<ValueId>(inputs.size(), output_gradients[0]);
}

std::vector<TensorType> Multiply::infer(std::span<const TensorType> inputs) const {
  require_inputs(*this, inputs, 2);
  require_float(*this, inputs[0], "src");
  require_same(*this, inputs[0], inputs[1]);
  return {inputs[0]};
}

std::vector<ValueId> Multiply::gradient(GraphBuilder& graph, std::span<const ValueId> inputs,
                                        std::span<const ValueId> /*outputs*/,
                                        std::span<const ValueId> output_gradients) const {
  const ValueId diff_dst = output_gradients[0];
  return {graph.add_one(std::make_shared<Multiply>(), {diff_dst, inputs[1]}),
          graph.add_one(std::make_shared<Multiply>(), {diff_dst, inputs[0]})};
}

std::string Scale::attributes() const { return fmt::format("factor {}", factor); }

std::vector<TensorType> Scale::infer(std::span<const TensorType> inputs) const {
  require_inputs(*this, inputs, 1);
  require_float(*this, inputs[0], "src");
  return {inputs[0]};
}

std::vector<ValueId> Scale::gradient(GraphBuilder& graph, std::span<const ValueId> /*inputs*/,
                                     std::span<const ValueId> /*outputs*/,
                                     std::span<const ValueId> output_gradients) const {
  return {graph.add_one(std::make_shared<Scale>(factor), {output_gradients[0]})};
}

std::vector<TensorType> ScaleBy::infer(std::span<const TensorType> inputs) const {
  require_inputs(*this, inputs, 2);
  require_float(*this, inputs[0], "src");
  require_type(*this, inputs[1], {DType::f32, {1}}, "factor");
  return {inputs[0]};
}

std::string Constant::attributes() const { return fmt::format("{} of {}", to_string(type), value); }

std::vector<TensorType> Constant::infer(std::span<const TensorType> inputs) const {
  require_inputs(*this, inputs, 0);
  return {type};
}

}  // namespace syrtos::ops
