#include "syrtos/ops/dropout.h"

#include "syrtos/base/error.h"

namespace syrtos::ops {

namespace {

void require_dropout(const Op& op, std::span<const TensorType> inputs, float rate) {
  require_inputs(op, inputs, 1);
  require_float(op, inputs[0], "src");
  if (inputs[0].shape.rank() < 1) {
    fail_shape(op, fmt::format("expected src [batch, ...], found {}", to_string(inputs[0])));
  }
  if (!(rate >= 0 && rate < 1)) {
    fail_shape(op, fmt::format("expected a rate of at least 0 and below 1, found {} for src {}",
                               rate, to_string(inputs[0])));
  }
}

}  // namespace

std::string Dropout::attributes() const { return fmt::format("rate {} layer {}", rate, layer); }

std::vector<TensorType> Dropout::infer(std::span<const TensorType> inputs) const {
  require_dropout(*this, inputs, rate);
  return {inputs[0]};
}

std::vector<ValueId> Dropout::gradient(GraphBuilder& graph, std::span<const ValueId> /*inputs*/,
                                       std::span<const ValueId> /*outputs*/,
                                       std::span<const ValueId> output_gradients) const {
  auto backward = std::make_shared<DropoutBackward>();
  backward->rate = rate;
  backward->layer = layer;
  return {graph.add_one(backward, {output_gradients[0]})};
}

std::string DropoutBackward::attributes() const {
  return fmt::format("rate {} layer {}", rate, layer);
}

std::vector<TensorType> DropoutBackward::infer(std::span<const TensorType> inputs) const {
  require_dropout(*this, inputs, rate);
  return {inputs[0]};
}

}  // namespace syrtos::ops
