#include "syrtos/ops/bias.h"

#include "syrtos/base/error.h"

namespace syrtos::ops {

namespace {

void require_channels(const Op& op, const TensorType& type, std::string_view what) {
  require_float(op, type, what);
  if (type.shape.rank() < 2) {
    fail_shape(op,
               fmt::format("expected {} [batch, channels, ...], found {}", what, to_string(type)));
  }
}

}  // namespace

// src [N,C,...], bias [C] -> dst [N,C,...]
std::vector<TensorType> BiasAdd::infer(std::span<const TensorType> inputs) const {
  require_inputs(*this, inputs, 2);
  require_channels(*this, inputs[0], "src");
  if (!(inputs[1] == TensorType{DType::f32, {inputs[0].shape[1]}})) {
    fail_shape(*this, fmt::format("src {} has {} channels, expected a bias f32[{}], found {}",
                                  to_string(inputs[0]), inputs[0].shape[1], inputs[0].shape[1],
                                  to_string(inputs[1])));
  }
  return {inputs[0]};
}

std::vector<ValueId> BiasAdd::gradient(GraphBuilder& graph, std::span<const ValueId> /*inputs*/,
                                       std::span<const ValueId> /*outputs*/,
                                       std::span<const ValueId> output_gradients) const {
  const ValueId diff_dst = output_gradients[0];
  return {diff_dst, graph.add_one(std::make_shared<BiasBackward>(), {diff_dst})};
}

// diff_dst [N,C,...] -> diff_bias [C]
std::vector<TensorType> BiasBackward::infer(std::span<const TensorType> inputs) const {
  require_inputs(*this, inputs, 1);
  require_channels(*this, inputs[0], "diff_dst");
  return {{DType::f32, {inputs[0].shape[1]}}};
}

}  // namespace syrtos::ops
