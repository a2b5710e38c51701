#include "syrtos/ops/group_norm.h"

#include "syrtos/base/error.h"

namespace syrtos::ops {

namespace {

void require_groups(const Op& op, const TensorType& src, int64_t groups) {
  require_float(op, src, "src");
  if (src.shape.rank() < 2) {
    fail_shape(op, fmt::format("expected src [batch, channels, ...], found {}", to_string(src)));
  }
  if (groups < 1 || src.shape[1] % groups != 0) {
    fail_shape(op, fmt::format("expected groups that divide {} channels of src {}, found {}",
                               src.shape[1], to_string(src), groups));
  }
}

}  // namespace

std::string GroupNorm::attributes() const {
  return fmt::format("groups {} epsilon {}", groups, epsilon);
}

std::vector<TensorType> GroupNorm::infer(std::span<const TensorType> inputs) const {
  require_inputs(*this, inputs, 3);
  require_groups(*this, inputs[0], groups);
  const TensorType per_channel{DType::f32, {inputs[0].shape[1]}};
  require_type(*this, inputs[1], per_channel, "gamma");
  require_type(*this, inputs[2], per_channel, "beta");
  const TensorType statistic{DType::f32, {inputs[0].shape[0], groups}};
  return {inputs[0], statistic, statistic};
}

std::vector<ValueId> GroupNorm::gradient(GraphBuilder& graph, std::span<const ValueId> inputs,
                                         std::span<const ValueId> outputs,
                                         std::span<const ValueId> output_gradients) const {
  auto backward = std::make_shared<GroupNormBackward>();
  backward->groups = groups;
  const ValueId operands[] = {inputs[0], inputs[1], outputs[1], outputs[2], output_gradients[0]};
  return graph.add(backward, operands);
}

double GroupNorm::flops(std::span<const TensorType> inputs,
                        std::span<const TensorType> /*outputs*/) const {
  return 7.0 * static_cast<double>(inputs[0].shape.elements());
}

std::string GroupNormBackward::attributes() const { return fmt::format("groups {}", groups); }

std::vector<TensorType> GroupNormBackward::infer(std::span<const TensorType> inputs) const {
  require_inputs(*this, inputs, 5);
  require_groups(*this, inputs[0], groups);
  const TensorType per_channel{DType::f32, {inputs[0].shape[1]}};
  const TensorType statistic{DType::f32, {inputs[0].shape[0], groups}};
  require_type(*this, inputs[1], per_channel, "gamma");
  require_type(*this, inputs[2], statistic, "mean");
  require_type(*this, inputs[3], statistic, "inv_std");
  require_type(*this, inputs[4], inputs[0], "diff_dst");
  return {inputs[0], per_channel, per_channel};
}

double GroupNormBackward::flops(std::span<const TensorType> inputs,
                                std::span<const TensorType> /*outputs*/) const {
  return 12.0 * static_cast<double>(inputs[0].shape.elements());
}

}  // namespace syrtos::ops
