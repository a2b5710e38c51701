#include "syrtos/ops/reduce.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "syrtos/base/error.h"
#include "syrtos/ops/arithmetic.h"
#include "syrtos/ops/binary.h"

namespace syrtos::ops {

namespace {

/// The shape without the axes; [1] when none is left.
Shape without_axes(const Op& op, const Shape& shape, const std::vector<int>& axes) {
  for (size_t i = 0; i < axes.size(); ++i) {
    const bool twice = std::find(axes.begin(), axes.begin() + static_cast<std::ptrdiff_t>(i),
                                 axes[i]) != axes.begin() + static_cast<std::ptrdiff_t>(i);
    if (axes[i] < 0 || axes[i] >= shape.rank() || twice) {
      fail_shape(op, fmt::format("expected different axes of {}, found [{}]", to_string(shape),
                                 fmt::join(axes, ", ")));
    }
  }
  Shape rest;
  for (int i = 0; i < shape.rank(); ++i) {
    if (std::find(axes.begin(), axes.end(), i) == axes.end()) rest.append(shape[i]);
  }
  if (rest.rank() == 0) rest.append(1);
  return rest;
}

}  // namespace

std::string_view Reduce::name() const {
  switch (kind) {
    case ReduceKind::sum:
      return "reduce_sum";
    case ReduceKind::mean:
      return "reduce_mean";
    case ReduceKind::max:
      return "reduce_max";
  }
  return "?";
}

std::string Reduce::attributes() const {
  return fmt::format("axes {}{}", fmt::join(axes, ","), f32_output ? " f32" : "");
}

std::vector<TensorType> Reduce::infer(std::span<const TensorType> inputs) const {
  require_inputs(*this, inputs, 1);
  require_float(*this, inputs[0], "src");
  if (axes.empty()) {
    fail_shape(*this, fmt::format("expected at least one axis of src {}, found none",
                                  to_string(inputs[0])));
  }
  const DType dtype = f32_output ? DType::f32 : inputs[0].dtype;
  return {{dtype, without_axes(*this, inputs[0].shape, axes)}};
}

std::vector<ValueId> Reduce::gradient(GraphBuilder& graph, std::span<const ValueId> inputs,
                                      std::span<const ValueId> outputs,
                                      std::span<const ValueId> output_gradients) const {
  SYRTOS_CHECK(!f32_output, "gradients are added before folding");
  const Shape src = graph.type(inputs[0]).shape;
  const auto repeat = [&](ValueId value, float factor) {
    auto broadcast = std::make_shared<Broadcast>();
    broadcast->shape = src;
    broadcast->axes = axes;
    broadcast->factor = factor;
    return graph.add_one(broadcast, {value});
  };
  if (kind == ReduceKind::sum) return {repeat(output_gradients[0], 1)};
  if (kind == ReduceKind::mean) {
    int64_t count = 1;
    for (const int axis : axes) count *= src[axis];
    return {repeat(output_gradients[0], 1.0F / static_cast<float>(count))};
  }
  // diff_src = [src = max] * diff_dst / how many have it
  const ValueId mask = graph.add_one(std::make_shared<Binary>(BinaryKind::equal),
                                     {inputs[0], repeat(outputs[0], 1)});
  auto sum = std::make_shared<Reduce>();
  sum->axes = axes;
  const ValueId count = graph.add_one(sum, {mask});
  const ValueId part =
      graph.add_one(std::make_shared<Binary>(BinaryKind::divide), {output_gradients[0], count});
  return {graph.add_one(std::make_shared<Multiply>(), {mask, repeat(part, 1)})};
}

std::string Broadcast::attributes() const {
  std::string text = fmt::format("to {} axes {}", to_string(shape), fmt::join(axes, ","));
  if (factor != 1) text += fmt::format(" factor {}", factor);
  return text;
}

std::vector<TensorType> Broadcast::infer(std::span<const TensorType> inputs) const {
  require_inputs(*this, inputs, 1);
  require_float(*this, inputs[0], "src");
  const TensorType expected{inputs[0].dtype, without_axes(*this, shape, axes)};
  require_type(*this, inputs[0], expected, fmt::format("for dst {} src", to_string(shape)));
  return {{inputs[0].dtype, shape}};
}

std::vector<ValueId> Broadcast::gradient(GraphBuilder& graph, std::span<const ValueId> /*inputs*/,
                                         std::span<const ValueId> /*outputs*/,
                                         std::span<const ValueId> output_gradients) const {
  auto sum = std::make_shared<Reduce>();
  sum->axes = axes;
  const ValueId diff = graph.add_one(sum, {output_gradients[0]});
  return {factor == 1 ? diff : graph.add_one(std::make_shared<Scale>(factor), {diff})};
}

}  // namespace syrtos::ops
