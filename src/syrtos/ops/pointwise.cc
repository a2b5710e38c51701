#include "syrtos/ops/pointwise.h"

#include <fmt/format.h>

#include <array>

namespace syrtos::ops {

namespace {

struct Names {
  std::string_view forward;
  std::string_view backward;
};

/// In the order of PointwiseKind.
constexpr std::array<Names, 15> kNames{{
    {"negative", "negative.backward"},
    {"absolute", "absolute.backward"},
    {"square_root", "square_root.backward"},
    {"exponential", "exponential.backward"},
    {"logarithm", "logarithm.backward"},
    {"erf", "erf.backward"},
    {"reciprocal", "reciprocal.backward"},
    {"leaky_relu", "leaky_relu.backward"},
    {"elu", "elu.backward"},
    {"softplus", "softplus.backward"},
    {"hard_sigmoid", "hard_sigmoid.backward"},
    {"hard_swish", "hard_swish.backward"},
    {"clip", "clip.backward"},
    {"exact_gelu", "exact_gelu.backward"},
    {"silu", "silu.backward"},
}};

std::string constants(PointwiseKind kind, float alpha, float beta) {
  switch (kind) {
    case PointwiseKind::leaky_relu:
    case PointwiseKind::elu:
      return fmt::format("alpha {}", alpha);
    case PointwiseKind::hard_sigmoid:
      return fmt::format("alpha {} beta {}", alpha, beta);
    case PointwiseKind::clip:
      return fmt::format("from {} to {}", alpha, beta);
    default:
      return {};
  }
}

}  // namespace

std::string_view Pointwise::name() const { return kNames[static_cast<size_t>(kind)].forward; }

std::string Pointwise::attributes() const { return constants(kind, alpha, beta); }

std::vector<TensorType> Pointwise::infer(std::span<const TensorType> inputs) const {
  require_inputs(*this, inputs, 1);
  require_float(*this, inputs[0], "src");
  return {inputs[0]};
}

std::vector<ValueId> Pointwise::gradient(GraphBuilder& graph, std::span<const ValueId> inputs,
                                         std::span<const ValueId> /*outputs*/,
                                         std::span<const ValueId> output_gradients) const {
  return {graph.add_one(std::make_shared<PointwiseBackward>(kind, alpha, beta),
                        {inputs[0], output_gradients[0]})};
}

std::string_view PointwiseBackward::name() const {
  return kNames[static_cast<size_t>(kind)].backward;
}

std::string PointwiseBackward::attributes() const { return constants(kind, alpha, beta); }

std::vector<TensorType> PointwiseBackward::infer(std::span<const TensorType> inputs) const {
  require_inputs(*this, inputs, 2);
  require_float(*this, inputs[0], "src");
  require_same(*this, inputs[0], inputs[1]);
  return {inputs[0]};
}

}  // namespace syrtos::ops
