#include "syrtos/ops/reduce.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "syrtos/base/error.h"
#include "syrtos/ops/arithmetic.h"

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

std::string_view Reduce::name() const { return mean ? "reduce_mean" : "reduce_sum"; }

std::string Reduce::attributes() const { return fmt::format("axes {}", fmt::join(axes, ",")); }

std::vector<TensorType> Reduce::infer(std::span<const TensorType> inputs) const {
  require_inputs(*this, inputs, 1);
  require_float(*this, inputs[0], "src");
  if (axes.empty()) {
    fail_shape(*this, fmt::format("expected at least one axis of src {}, found none",
                                  to_string(inputs[0])));
  }
  return {{inputs[0].dtype, without_axes(*this, inputs[0].shape, axes)}};
}

std::vector<ValueId> Reduce::gradient(GraphBuilder& graph, std::span<const ValueId> inputs,
                                      std::span<const ValueId> /*outputs*/,
                                      std::span<const ValueId> output_gradients) const {
  auto broadcast = std::make_shared<Broadcast>();
  broadcast->shape = graph.type(inputs[0]).shape;
  broadcast->axes = axes;
  if (mean) {
    int64_t count = 1;
    for (const int axis : axes) count *= broadcast->shape[axis];
    broadcast->factor = 1.0F / static_cast<float>(count);
  }
  return {graph.add_one(broadcast, {output_gradients[0]})};
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
