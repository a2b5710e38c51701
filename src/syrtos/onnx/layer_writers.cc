// Operations with weights or windows, as nodes.
#include "syrtos/base/error.h"
#include "syrtos/onnx/exporter.h"
#include "syrtos/ops/batch_norm.h"
#include "syrtos/ops/conv.h"
#include "syrtos/ops/group_norm.h"
#include "syrtos/ops/layer_norm.h"
#include "syrtos/ops/lrn.h"
#include "syrtos/ops/matmul.h"
#include "syrtos/ops/pool.h"
#include "syrtos/ops/softmax.h"

namespace syrtos::onnx {
namespace {

using graph::Node;

template <typename Op>
const Op& as(const Node& node) {
  const auto* op = dynamic_cast<const Op*>(node.op.get());
  SYRTOS_CHECK(op != nullptr, "{}", node.op->name());
  return *op;
}

std::vector<int64_t> list(const std::array<int64_t, 2>& values, int axes) {
  return {values.begin(), values.begin() + axes};
}

void put_window(Exporter& out, const ops::Window& window) {
  std::vector<int64_t> pads = list(window.pad_begin, window.axes);
  const std::vector<int64_t> ends = list(window.pad_end, window.axes);
  pads.insert(pads.end(), ends.begin(), ends.end());
  out.with("kernel_shape", list(window.kernel, window.axes))
      .with("strides", list(window.stride, window.axes))
      .with("pads", pads);
}

std::string conv(Exporter& out, const Node& node) {
  const auto& op = as<ops::Conv>(node);
  std::string result = out.add("Conv", {out.name(node.inputs[0]), out.name(node.inputs[1])});
  put_window(out, op.window);
  out.with("dilations", list(op.window.dilation, op.window.axes)).with("group", op.groups);
  return result;
}

/// One number for each channel: an input of the layer before it, or added to [N, C, ...].
std::string bias_add(Exporter& out, const Node& node) {
  const int rank = out.shape(node.inputs[0]).rank();
  std::string bias = out.name(node.inputs[1]);
  if (out.add_bias(node.inputs[0], bias)) return out.name(node.inputs[0]);
  if (rank > 2) {
    std::vector<int64_t> shape(static_cast<size_t>(rank - 1), 1);
    shape[0] = -1;
    bias = out.add("Reshape", {bias, out.integers(shape)});
  }
  return out.add("Add", {out.name(node.inputs[0]), bias});
}

std::string transposed(Exporter& out, const std::string& x, int rank) {
  std::vector<int64_t> order;
  for (int axis = 0; axis < rank; ++axis) order.push_back(axis);
  std::swap(order[order.size() - 1], order[order.size() - 2]);
  std::string result = out.add("Transpose", {x});
  out.with("perm", order);
  return result;
}

std::string matmul(Exporter& out, const Node& node) {
  const auto& op = as<ops::MatMul>(node);
  const int rank_a = out.shape(node.inputs[0]).rank();
  const int rank_b = out.shape(node.inputs[1]).rank();
  std::string a = out.name(node.inputs[0]);
  std::string b = out.name(node.inputs[1]);
  if (rank_a == 2 && rank_b == 2) {
    std::string result = out.add("Gemm", {a, b});
    out.with("transA", int64_t{op.transpose_a}).with("transB", int64_t{op.transpose_b});
    return result;
  }
  if (op.transpose_a) a = transposed(out, a, rank_a);
  if (op.transpose_b) b = transposed(out, b, rank_b);
  return out.add("MatMul", {a, b});
}

std::string batch_norm(Exporter& out, const Node& node) {
  const auto& op = as<ops::BatchNorm>(node);
  std::vector<std::string> inputs;
  for (const graph::ValueId input : node.inputs) inputs.push_back(out.name(input));
  std::string result = out.add("BatchNormalization", inputs);
  out.with("epsilon", op.epsilon).with("momentum", 1 - op.momentum);
  return result;
}

/// Averages over windows of unequal size are a product with a matrix along each axis.
std::string adaptive_average(Exporter& out, const Node& node, const ops::Pool& op) {
  const Shape from = out.shape(node.inputs[0]);
  std::string x = out.name(node.inputs[0]);
  for (int axis = 0; axis < from.rank() - 2; ++axis) {
    const int64_t extent = from[axis + 2];
    const int64_t outputs = op.output[static_cast<size_t>(axis)];
    const bool last = axis == from.rank() - 3;
    std::vector<float> map(static_cast<size_t>(extent * outputs));
    for (int64_t i = 0; i < outputs; ++i) {
      const int64_t begin = i * extent / outputs;
      const int64_t end = ((i + 1) * extent + outputs - 1) / outputs;
      for (int64_t k = begin; k < end; ++k) {
        const int64_t at = last ? k * outputs + i : i * extent + k;
        map[static_cast<size_t>(at)] = 1 / static_cast<float>(end - begin);
      }
    }
    x = last ? out.add("MatMul", {x, out.matrix(extent, outputs, map)})
             : out.add("MatMul", {out.matrix(outputs, extent, map), x});
  }
  return x;
}

std::string pool(Exporter& out, const Node& node) {
  const auto& op = as<ops::Pool>(node);
  const std::string x = out.name(node.inputs[0]);
  const bool max = op.kind == ops::PoolKind::max;
  if (op.adaptive) {
    bool global = true;
    for (int axis = 0; axis < out.shape(node.inputs[0]).rank() - 2; ++axis) {
      global = global && op.output[static_cast<size_t>(axis)] == 1;
    }
    if (global) return out.add(max ? "GlobalMaxPool" : "GlobalAveragePool", {x});
    if (max) fail_request("{}: adaptive maxima have no operator in ONNX", node.name);
    return adaptive_average(out, node, op);
  }
  std::string result = out.add(max ? "MaxPool" : "AveragePool", {x});
  put_window(out, op.window);
  if (op.overhang != std::array<int64_t, 2>{0, 0}) out.with("ceil_mode", int64_t{1});
  if (max) {
    out.with("dilations", list(op.window.dilation, op.window.axes));
  } else {
    out.with("count_include_pad", int64_t{op.count_padding});
  }
  return result;
}

/// The data gradient of a convolution in a forward pass is a transposed convolution.
std::string conv_transpose(Exporter& out, const Node& node) {
  const auto& op = as<ops::ConvBackwardData>(node);
  const Shape from = out.shape(node.inputs[0]);
  std::string result =
      out.add("ConvTranspose", {out.name(node.inputs[0]), out.name(node.inputs[1])});
  put_window(out, op.window);
  std::vector<int64_t> more;
  for (int axis = 0; axis < op.window.axes; ++axis) {
    const auto a = static_cast<size_t>(axis);
    more.push_back(op.src_shape[axis + 2] - (op.window.stride[a] * (from[axis + 2] - 1) +
                                             op.window.dilation[a] * (op.window.kernel[a] - 1) + 1 -
                                             op.window.pad_begin[a] - op.window.pad_end[a]));
  }
  out.with("dilations", list(op.window.dilation, op.window.axes))
      .with("group", op.groups)
      .with("output_padding", more);
  return result;
}

std::string layer_norm(Exporter& out, const Node& node) {
  const auto& op = as<ops::LayerNorm>(node);
  std::string result =
      out.add("LayerNormalization",
              {out.name(node.inputs[0]), out.name(node.inputs[1]), out.name(node.inputs[2])});
  out.with("axis", int64_t{op.axis}).with("epsilon", op.epsilon);
  return result;
}

/// Each group as a channel of its own is brought to mean 0 and variance 1; then scale and shift.
std::string group_norm(Exporter& out, const Node& node) {
  const auto& op = as<ops::GroupNorm>(node);
  const Shape shape = out.shape(node.inputs[0]);
  const std::vector<float> one(static_cast<size_t>(op.groups), 1);
  const std::vector<float> zero(static_cast<size_t>(op.groups), 0);
  std::string x = out.add("Reshape", {out.name(node.inputs[0]), out.integers({0, op.groups, -1})});
  x = out.add("InstanceNormalization", {x, out.tensor(Tensor::from({op.groups}, one)),
                                        out.tensor(Tensor::from({op.groups}, zero))});
  out.with("epsilon", op.epsilon);
  x = out.add("Reshape", {x, out.integers(out.open_shape(node.inputs[0]))});
  std::vector<int64_t> channels(static_cast<size_t>(shape.rank() - 1), 1);
  channels[0] = shape[1];
  const auto along = [&](graph::ValueId value) {
    return out.add("Reshape", {out.name(value), out.integers(channels)});
  };
  x = out.add("Mul", {x, along(node.inputs[1])});
  return out.add("Add", {x, along(node.inputs[2])});
}

std::string lrn(Exporter& out, const Node& node) {
  const auto& op = as<ops::LocalResponseNorm>(node);
  std::string result = out.add("LRN", {out.name(node.inputs[0])});
  out.with("size", op.size).with("alpha", op.alpha).with("beta", op.beta).with("bias", op.k);
  return result;
}

std::string softmax(Exporter& out, const Node& node) {
  const auto& op = as<ops::Softmax>(node);
  std::string result = out.add(op.log ? "LogSoftmax" : "Softmax", {out.name(node.inputs[0])});
  out.with("axis", int64_t{-1});
  return result;
}

}  // namespace

const std::map<std::string_view, Writer>& layer_writers() {
  static const std::map<std::string_view, Writer> writers = {
      {"conv", conv},
      {"conv.backward_data", conv_transpose},
      {"bias_add", bias_add},
      {"matmul", matmul},
      {"max_pool", pool},
      {"average_pool", pool},
      {"batch_norm", batch_norm},
      {"layer_norm", layer_norm},
      {"group_norm", group_norm},
      {"lrn", lrn},
      {"softmax", softmax},
      {"log_softmax", softmax},
  };
  return writers;
}

}  // namespace syrtos::onnx
