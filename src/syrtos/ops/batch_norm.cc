#include "syrtos/ops/batch_norm.h"

#include "syrtos/base/error.h"

namespace syrtos::ops {

namespace {

/// The type of a value per channel of src [N,C,...].
TensorType channel_type(const Op& op, const TensorType& src) {
  require_float(op, src, "src");
  if (src.shape.rank() < 2) {
    fail_shape(op, fmt::format("expected src [batch, channels, ...], found {}", to_string(src)));
  }
  return {DType::f32, {src.shape[1]}};
}

void require_channel_values(const Op& op, std::span<const TensorType> inputs, size_t input,
                            std::string_view what) {
  require_type(op, inputs[input], channel_type(op, inputs[0]),
               fmt::format("for src {} {}", to_string(inputs[0]), what));
}

}  // namespace

std::string BatchNorm::attributes() const {
  std::string text = training ? "training" : "inference";
  text += fmt::format(" epsilon {} momentum {}", epsilon, momentum);
  if (synchronised) text += " synchronised";
  if (add) text += " +add";
  if (relu) text += " +relu";
  return text;
}

// src [N,C,...], gamma, beta, running_mean, running_var [C] (, residual [N,C,...])
// -> dst [N,C,...] (, mean [C], inv_std [C])
std::vector<TensorType> BatchNorm::infer(std::span<const TensorType> inputs) const {
  require_inputs(*this, inputs, add ? 6 : 5);
  require_channel_values(*this, inputs, 1, "gamma");
  require_channel_values(*this, inputs, 2, "beta");
  require_channel_values(*this, inputs, 3, "running_mean");
  require_channel_values(*this, inputs, 4, "running_var");
  if (add) require_type(*this, inputs[5], inputs[0], "residual");
  if (!training) return {inputs[0]};
  // Synchronised, the other workers have more of them.
  if (inputs[0].shape.elements() / inputs[0].shape[1] < 2 && !synchronised) {
    fail_shape(*this, fmt::format("training needs more than one value per channel, found src {}: "
                                  "use a larger batch or image",
                                  to_string(inputs[0])));
  }
  const TensorType statistics = channel_type(*this, inputs[0]);
  return {inputs[0], statistics, statistics};
}

std::vector<ValueId> BatchNorm::gradient(GraphBuilder& graph, std::span<const ValueId> inputs,
                                         std::span<const ValueId> outputs,
                                         std::span<const ValueId> output_gradients) const {
  SYRTOS_CHECK(!relu && !add, "gradients are added before fusion");
  if (!training) {
    fail_request("[batch_norm] has a gradient in training mode only, found inference for src {}",
                 to_string(graph.type(inputs[0])));
  }
  const ValueId backward_inputs[] = {inputs[0], inputs[1], outputs[1], outputs[2],
                                     output_gradients[0]};
  auto backward = std::make_shared<BatchNormBackward>();
  backward->synchronised = synchronised;
  const auto diff = graph.add(std::move(backward), backward_inputs);
  return {diff[0], diff[1], diff[2], kNone, kNone};
}

// Training: the two sums and the affine map; inference: the map alone.
double BatchNorm::flops(std::span<const TensorType> inputs,
                        std::span<const TensorType> /*outputs*/) const {
  return (training ? 5.0 : 2.0) * static_cast<double>(inputs[0].shape.elements());
}

std::string BatchNormBackward::attributes() const {
  std::string text = synchronised ? "synchronised" : "";
  if (add) text += text.empty() ? "+add" : " +add";
  if (relu) text += text.empty() ? "+relu" : " +relu";
  return text;
}

// src [N,C,...], gamma, mean, inv_std [C], diff_dst [N,C,...] (, dst [N,C,...])
// -> diff_src [N,C,...], diff_gamma [C], diff_beta [C] (, diff_residual [N,C,...])
std::vector<TensorType> BatchNormBackward::infer(std::span<const TensorType> inputs) const {
  require_inputs(*this, inputs, relu ? 6 : 5);
  require_channel_values(*this, inputs, 1, "gamma");
  require_channel_values(*this, inputs, 2, "mean");
  require_channel_values(*this, inputs, 3, "inv_std");
  require_type(*this, inputs[4], inputs[0], "diff_dst");
  if (relu) require_type(*this, inputs[5], inputs[0], "dst");
  const TensorType parameter = channel_type(*this, inputs[0]);
  std::vector<TensorType> types{inputs[0], parameter, parameter};
  if (add) types.push_back(inputs[0]);
  return types;
}

}  // namespace syrtos::ops
