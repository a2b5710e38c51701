#include "syrtos/ops/conv.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "syrtos/base/error.h"

namespace syrtos::ops {

namespace {

int64_t extent_of_kernel(const Window& window, size_t axis) {
  return window.dilation[axis] * (window.kernel[axis] - 1) + 1;
}

std::string by_axis(const std::array<int64_t, 2>& values, int axes) {
  return fmt::format("{}", fmt::join(values.begin(), values.begin() + axes, "x"));
}

/// dst of a convolution of src [N,I,spatial] with weights [O,I/groups,kernel].
TensorType conv_dst(const Op& op, const Window& window, int64_t groups, const TensorType& src,
                    const TensorType& weights) {
  require_float(op, src, "src");
  require_rank(op, src, window.axes + 2, "src");
  require_rank(op, weights, window.axes + 2, "weights");
  if (weights.dtype != src.dtype) {
    fail_shape(op, fmt::format("weights {} must have the type of src {}", to_string(weights),
                               to_string(src)));
  }
  if (groups < 1 || src.shape[1] % groups != 0 || weights.shape[0] % groups != 0) {
    fail_shape(op, fmt::format("{} groups must divide the channels of src {} and of weights {}",
                               groups, to_string(src), to_string(weights)));
  }
  if (weights.shape[1] * groups != src.shape[1]) {
    fail_shape(op, fmt::format("src {} has {} channels, weights {} expect {}", to_string(src),
                               src.shape[1], to_string(weights), weights.shape[1] * groups));
  }
  for (int axis = 0; axis < window.axes; ++axis) {
    if (weights.shape[axis + 2] != window.kernel[static_cast<size_t>(axis)]) {
      fail_shape(op, fmt::format("weights {} do not have the kernel {}", to_string(weights),
                                 by_axis(window.kernel, window.axes)));
    }
  }
  TensorType dst{src.dtype, {src.shape[0], weights.shape[0]}};
  for (const int64_t extent : window_output(op, window, src)) dst.shape.append(extent);
  return dst;
}

Shape weights_shape(const Window& window, int64_t groups, int64_t outputs, int64_t inputs) {
  Shape shape{outputs, inputs / std::max<int64_t>(groups, 1)};
  for (int axis = 0; axis < window.axes; ++axis) {
    shape.append(window.kernel[static_cast<size_t>(axis)]);
  }
  return shape;
}

std::string conv_attributes(const Window& window, int64_t groups) {
  std::string text = window.to_string();
  if (groups != 1) text += fmt::format(" groups {}", groups);
  return text;
}

/// One multiply-add for each weight of each output element.
double conv_flops(const Window& window, int64_t groups, const Shape& src, const Shape& dst) {
  double flops = 2.0 * static_cast<double>(dst.elements());
  const int64_t channels = src[1] / groups;
  flops *= static_cast<double>(channels);
  for (int axis = 0; axis < window.axes; ++axis) {
    flops *= static_cast<double>(window.kernel[static_cast<size_t>(axis)]);
  }
  return flops;
}

}  // namespace

int64_t Window::output(int axis, int64_t input) const {
  const auto i = static_cast<size_t>(axis);
  const int64_t room = input + pad_begin[i] + pad_end[i] - extent_of_kernel(*this, i);
  return room < 0 ? 0 : room / stride[i] + 1;
}

void Window::pad_same(std::span<const int64_t> input) {
  SYRTOS_CHECK(static_cast<int>(input.size()) >= axes, "{} extents for {} axes", input.size(),
               axes);
  for (size_t i = 0; i < static_cast<size_t>(axes); ++i) {
    const int64_t out = (input[i] + stride[i] - 1) / stride[i];
    const int64_t covered = (out - 1) * stride[i] + extent_of_kernel(*this, i);
    const int64_t total = std::max<int64_t>(0, covered - input[i]);
    pad_begin[i] = total / 2;
    pad_end[i] = total - total / 2;
  }
}

std::string Window::to_string() const {
  constexpr std::array<int64_t, 2> kOnes{1, 1};
  constexpr std::array<int64_t, 2> kZeros{0, 0};
  const auto differs = [&](const std::array<int64_t, 2>& a, const std::array<int64_t, 2>& b) {
    return !std::equal(a.begin(), a.begin() + axes, b.begin());
  };
  std::string text = "kernel " + by_axis(kernel, axes);
  if (differs(stride, kOnes)) text += " stride " + by_axis(stride, axes);
  if (differs(dilation, kOnes)) text += " dilation " + by_axis(dilation, axes);
  if (differs(pad_begin, pad_end)) {
    text += " pad " + by_axis(pad_begin, axes) + ":" + by_axis(pad_end, axes);
  } else if (differs(pad_begin, kZeros)) {
    text += " pad " + by_axis(pad_begin, axes);
  }
  return text;
}

Shape window_output(const Op& op, const Window& window, const TensorType& src) {
  if (window.axes < 1 || window.axes > 2) {
    fail_shape(op, fmt::format("expected 1 or 2 spatial axes, found {}", window.axes));
  }
  require_rank(op, src, window.axes + 2, "src");
  Shape output;
  for (int axis = 0; axis < window.axes; ++axis) {
    const auto i = static_cast<size_t>(axis);
    if (window.kernel[i] < 1 || window.stride[i] < 1 || window.dilation[i] < 1 ||
        window.pad_begin[i] < 0 || window.pad_end[i] < 0) {
      fail_shape(op, fmt::format("kernel, stride and dilation must be positive and padding not "
                                 "negative, found {}",
                                 window.to_string()));
    }
    const int64_t extent = window.output(axis, src.shape[axis + 2]);
    if (extent < 1) {
      fail_shape(
          op, fmt::format("the kernel is larger than the padded input of src {} ({}): "
                          "expected at least {} along spatial axis {}, found {}",
                          syrtos::to_string(src), window.to_string(), extent_of_kernel(window, i),
                          axis, src.shape[axis + 2] + window.pad_begin[i] + window.pad_end[i]));
    }
    output.append(extent);
  }
  return output;
}

std::string Conv::attributes() const {
  std::string text = conv_attributes(window, groups);
  if (bias) text += " +bias";
  if (relu) text += " +relu";
  return text;
}

std::vector<TensorType> Conv::infer(std::span<const TensorType> inputs) const {
  require_inputs(*this, inputs, bias ? 3 : 2);
  const TensorType dst = conv_dst(*this, window, groups, inputs[0], inputs[1]);
  if (bias) require_type(*this, inputs[2], {DType::f32, {dst.shape[1]}}, "bias");
  return {dst};
}

std::vector<ValueId> Conv::gradient(GraphBuilder& graph, std::span<const ValueId> inputs,
                                    std::span<const ValueId> /*outputs*/,
                                    std::span<const ValueId> output_gradients) const {
  SYRTOS_CHECK(!bias && !relu, "gradients are added before fusion");
  auto data = std::make_shared<ConvBackwardData>();
  data->window = window;
  data->groups = groups;
  data->src_shape = graph.type(inputs[0]).shape;
  auto weights = std::make_shared<ConvBackwardWeights>();
  weights->window = window;
  weights->groups = groups;
  // The weights first: their gradient is final and may travel while that of the data is computed.
  const ValueId diff_weights = graph.add_one(weights, {inputs[0], output_gradients[0]});
  const ValueId diff_src = graph.add_one(data, {output_gradients[0], inputs[1]});
  return {diff_src, diff_weights};
}

double Conv::flops(std::span<const TensorType> inputs, std::span<const TensorType> outputs) const {
  return conv_flops(window, groups, inputs[0].shape, outputs[0].shape);
}

std::string ConvBackwardData::attributes() const {
  return conv_attributes(window, groups) + " src " + syrtos::to_string(src_shape);
}

std::vector<TensorType> ConvBackwardData::infer(std::span<const TensorType> inputs) const {
  require_inputs(*this, inputs, 2);
  const TensorType diff_src{inputs[0].dtype, src_shape};
  require_type(*this, inputs[0], conv_dst(*this, window, groups, diff_src, inputs[1]), "diff_dst");
  return {diff_src};
}

// It is linear in both: with y = T(x, w) and <T(x, w), g> = <x, conv(g, w)>, x gets conv(g, w) and
// w what a convolution of g whose result has the gradient x would get.
std::vector<ValueId> ConvBackwardData::gradient(GraphBuilder& graph,
                                                std::span<const ValueId> inputs,
                                                std::span<const ValueId> /*outputs*/,
                                                std::span<const ValueId> output_gradients) const {
  auto data = std::make_shared<Conv>();
  data->window = window;
  data->groups = groups;
  auto weights = std::make_shared<ConvBackwardWeights>();
  weights->window = window;
  weights->groups = groups;
  const ValueId diff_weights = graph.add_one(weights, {output_gradients[0], inputs[0]});
  const ValueId diff_data = graph.add_one(data, {output_gradients[0], inputs[1]});
  return {diff_data, diff_weights};
}

double ConvBackwardData::flops(std::span<const TensorType> inputs,
                               std::span<const TensorType> outputs) const {
  return conv_flops(window, groups, outputs[0].shape, inputs[0].shape);
}

std::string ConvBackwardWeights::attributes() const {
  return conv_attributes(window, groups) + (bias ? " +bias" : "");
}

std::vector<TensorType> ConvBackwardWeights::infer(std::span<const TensorType> inputs) const {
  require_inputs(*this, inputs, 2);
  require_rank(*this, inputs[0], window.axes + 2, "src");
  require_rank(*this, inputs[1], window.axes + 2, "diff_dst");
  const int64_t outputs = inputs[1].shape[1];
  const Shape weights = weights_shape(window, groups, outputs, inputs[0].shape[1]);
  const TensorType dst =
      conv_dst(*this, window, groups, inputs[0], TensorType{inputs[0].dtype, weights});
  require_type(*this, inputs[1], dst, "diff_dst");
  std::vector<TensorType> types{{DType::f32, weights}};
  if (bias) types.push_back({DType::f32, {outputs}});
  return types;
}

double ConvBackwardWeights::flops(std::span<const TensorType> inputs,
                                  std::span<const TensorType> /*outputs*/) const {
  return conv_flops(window, groups, inputs[0].shape, inputs[1].shape);
}

}  // namespace syrtos::ops
