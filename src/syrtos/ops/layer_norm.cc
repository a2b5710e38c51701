#include "syrtos/ops/layer_norm.h"

#include "syrtos/base/error.h"

namespace syrtos::ops {

namespace {

struct Split {
  Shape rows;  ///< the axes before; [1] for none
  Shape row;
};

Split split_at(const Op& op, const TensorType& src, int axis) {
  require_float(op, src, "src");
  if (axis < 0 || axis >= src.shape.rank()) {
    fail_shape(op, fmt::format("there is no axis {} in src {}", axis, to_string(src)));
  }
  Split split;
  for (int i = 0; i < src.shape.rank(); ++i)
    (i < axis ? split.rows : split.row).append(src.shape[i]);
  if (split.rows.rank() == 0) split.rows.append(1);
  return split;
}

}  // namespace

std::string LayerNorm::attributes() const {
  return fmt::format("axis {} epsilon {}", axis, epsilon);
}

std::vector<TensorType> LayerNorm::infer(std::span<const TensorType> inputs) const {
  require_inputs(*this, inputs, 3);
  const Split split = split_at(*this, inputs[0], axis);
  require_type(*this, inputs[1], {DType::f32, split.row}, "gamma");
  require_type(*this, inputs[2], {DType::f32, split.row}, "beta");
  const TensorType statistic{DType::f32, split.rows};
  return {inputs[0], statistic, statistic};
}

std::vector<ValueId> LayerNorm::gradient(GraphBuilder& graph, std::span<const ValueId> inputs,
                                         std::span<const ValueId> outputs,
                                         std::span<const ValueId> output_gradients) const {
  auto backward = std::make_shared<LayerNormBackward>();
  backward->axis = axis;
  const ValueId operands[] = {inputs[0], inputs[1], outputs[1], outputs[2], output_gradients[0]};
  return graph.add(backward, operands);
}

double LayerNorm::flops(std::span<const TensorType> inputs,
                        std::span<const TensorType> /*outputs*/) const {
  return 7.0 * static_cast<double>(inputs[0].shape.elements());
}

std::string LayerNormBackward::attributes() const { return fmt::format("axis {}", axis); }

std::vector<TensorType> LayerNormBackward::infer(std::span<const TensorType> inputs) const {
  require_inputs(*this, inputs, 5);
  const Split split = split_at(*this, inputs[0], axis);
  require_type(*this, inputs[1], {DType::f32, split.row}, "gamma");
  require_type(*this, inputs[2], {DType::f32, split.rows}, "mean");
  require_type(*this, inputs[3], {DType::f32, split.rows}, "inv_std");
  require_type(*this, inputs[4], inputs[0], "diff_dst");
  return {inputs[0], inputs[1], inputs[1]};
}

double LayerNormBackward::flops(std::span<const TensorType> inputs,
                                std::span<const TensorType> /*outputs*/) const {
  return 12.0 * static_cast<double>(inputs[0].shape.elements());
}

}  // namespace syrtos::ops
