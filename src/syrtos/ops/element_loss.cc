#include "syrtos/ops/element_loss.h"

#include <fmt/format.h>

#include <array>

namespace syrtos::ops {

namespace {

struct Names {
  std::string_view forward;
  std::string_view backward;
};

/// In the order of ElementLossKind.
constexpr std::array<Names, 3> kNames{{
    {"absolute_error", "absolute_error.backward"},
    {"huber_error", "huber_error.backward"},
    {"binary_cross_entropy", "binary_cross_entropy.backward"},
}};

std::string constants(ElementLossKind kind, float delta) {
  return kind == ElementLossKind::huber ? fmt::format("delta {}", delta) : "";
}

void require_pair(const Op& op, std::span<const TensorType> inputs, float delta) {
  require_float(op, inputs[0], "prediction");
  require_same(op, inputs[0], inputs[1]);
  if (inputs[0].shape.elements() < 1 || !(delta > 0)) {
    fail_shape(op, fmt::format("expected at least one element and a delta above 0, found {} and {}",
                               to_string(inputs[0]), delta));
  }
}

const TensorType kLoss{DType::f32, {1}};

}  // namespace

std::string_view ElementLoss::name() const { return kNames[static_cast<size_t>(kind)].forward; }

std::string ElementLoss::attributes() const { return constants(kind, delta); }

std::vector<TensorType> ElementLoss::infer(std::span<const TensorType> inputs) const {
  require_inputs(*this, inputs, 2);
  require_pair(*this, inputs, delta);
  return {kLoss};
}

std::vector<ValueId> ElementLoss::gradient(GraphBuilder& graph, std::span<const ValueId> inputs,
                                           std::span<const ValueId> /*outputs*/,
                                           std::span<const ValueId> output_gradients) const {
  return {graph.add_one(std::make_shared<ElementLossBackward>(kind, delta),
                        {inputs[0], inputs[1], output_gradients[0]}),
          kNone};
}

std::string_view ElementLossBackward::name() const {
  return kNames[static_cast<size_t>(kind)].backward;
}

std::string ElementLossBackward::attributes() const { return constants(kind, delta); }

std::vector<TensorType> ElementLossBackward::infer(std::span<const TensorType> inputs) const {
  require_inputs(*this, inputs, 3);
  require_pair(*this, inputs, delta);
  require_type(*this, inputs[2], kLoss, "diff_loss");
  return {inputs[0]};
}

}  // namespace syrtos::ops
