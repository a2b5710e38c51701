// What moves values, as nodes.
#include <algorithm>

#include "syrtos/base/error.h"
#include "syrtos/onnx/exporter.h"
#include "syrtos/ops/axis_map.h"
#include "syrtos/ops/concat.h"
#include "syrtos/ops/literal.h"
#include "syrtos/ops/reduce.h"
#include "syrtos/ops/slice.h"
#include "syrtos/ops/transpose.h"

namespace syrtos::onnx {
namespace {

using graph::Node;

template <typename Op>
const Op& as(const Node& node) {
  const auto* op = dynamic_cast<const Op*>(node.op.get());
  SYRTOS_CHECK(op != nullptr, "{}", node.op->name());
  return *op;
}

std::vector<int64_t> list(const Shape& shape) { return {shape.begin(), shape.end()}; }

std::string reshape(Exporter& out, const Node& node) {
  const std::vector<int64_t> shape = out.open_shape(node.outputs[0]);
  return out.add("Reshape", {out.name(node.inputs[0]), out.integers(shape)});
}

std::string concat(Exporter& out, const Node& node) {
  std::vector<std::string> inputs;
  for (const graph::ValueId input : node.inputs) inputs.push_back(out.name(input));
  std::string result = out.add("Concat", inputs);
  out.with("axis", int64_t{as<ops::Concat>(node).axis});
  return result;
}

/// Along axes of the batch everything is kept, whatever it is.
std::string slice(Exporter& out, const Node& node) {
  const auto& op = as<ops::Slice>(node);
  const std::vector<int64_t> open = out.open_shape(node.inputs[0]);
  std::vector<int64_t> starts;
  std::vector<int64_t> ends;
  std::vector<int64_t> axes;
  std::vector<int64_t> steps;
  for (int axis = 0; axis < op.begin.rank(); ++axis) {
    if (open[static_cast<size_t>(axis)] < 0) continue;
    starts.push_back(op.begin[axis]);
    ends.push_back(op.begin[axis] + (op.size[axis] - 1) * op.stride[axis] + 1);
    axes.push_back(axis);
    steps.push_back(op.stride[axis]);
  }
  return out.add("Slice", {out.name(node.inputs[0]), out.integers(starts), out.integers(ends),
                           out.integers(axes), out.integers(steps)});
}

std::string pad(Exporter& out, const Node& node) {
  const auto& op = as<ops::Pad>(node);
  for (const int64_t gap : op.between) {
    if (gap != 0) fail_request("{}: zeros between elements have no operator in ONNX", node.name);
  }
  std::vector<int64_t> pads = list(op.before);
  pads.insert(pads.end(), op.after.begin(), op.after.end());
  return out.add("Pad", {out.name(node.inputs[0]), out.integers(pads), out.number(op.value)});
}

std::string transpose(Exporter& out, const Node& node) {
  const auto& op = as<ops::Transpose>(node);
  std::string result = out.add("Transpose", {out.name(node.inputs[0])});
  out.with("perm", std::vector<int64_t>(op.order.begin(), op.order.end()));
  return result;
}

std::string literal(Exporter& out, const Node& node) {
  const Tensor& value = as<ops::Literal>(node).value;
  return out.tensor(Tensor::from(value.shape(), value.to_vector()));
}

/// With the extents that are repeated as 1, then repeated; the batch is known only when it runs.
std::string broadcast(Exporter& out, const Node& node) {
  const auto& op = as<ops::Broadcast>(node);
  const std::vector<int64_t> open = out.open_shape(node.outputs[0]);
  std::vector<int64_t> ones = open;
  for (const int axis : op.axes) ones[static_cast<size_t>(axis)] = 1;
  std::string x = out.add("Reshape", {out.name(node.inputs[0]), out.integers(ones)});
  std::vector<std::string> extents;
  for (size_t axis = 0; axis < open.size(); ++axis) {
    const bool repeated =
        std::find(op.axes.begin(), op.axes.end(), static_cast<int>(axis)) != op.axes.end();
    extents.push_back(repeated && open[axis] < 0 ? out.batch()
                                                 : out.integers({repeated ? open[axis] : 1}));
  }
  const std::string shape = out.add("Concat", extents);
  out.with("axis", int64_t{0});
  x = out.add("Expand", {x, shape});
  return op.factor == 1 ? x : out.add("Mul", {x, out.number(op.factor)});
}

/// A product with a matrix along one axis; a choice of elements where it is no more than that.
std::string axis_map(Exporter& out, const Node& node) {
  const auto& op = as<ops::AxisMap>(node);
  const ops::SparseRows& map = *op.map;
  const std::string x = out.name(node.inputs[0]);
  bool chooses = map.index.size() == static_cast<size_t>(map.rows());
  for (size_t i = 0; i < map.weight.size(); ++i) chooses = chooses && map.weight[i] == 1;
  for (size_t i = 0; chooses && i < map.first.size(); ++i) {
    chooses = map.first[i] == static_cast<int32_t>(i);
  }
  if (chooses) {
    const std::vector<int64_t> indices(map.index.begin(), map.index.end());
    std::string result = out.add("Gather", {x, out.integers(indices)});
    out.with("axis", int64_t{op.axis});
    return result;
  }
  std::vector<float> dense(static_cast<size_t>(map.columns * map.rows()));
  for (int64_t row = 0; row < map.rows(); ++row) {
    const auto r = static_cast<size_t>(row);
    for (auto k = static_cast<size_t>(map.first[r]); k < static_cast<size_t>(map.first[r + 1]);
         ++k) {
      dense[static_cast<size_t>(map.index[k] * map.rows() + row)] += map.weight[k];
    }
  }
  std::vector<int64_t> order;
  for (int axis = 0; axis < out.shape(node.inputs[0]).rank(); ++axis) order.push_back(axis);
  std::swap(order[static_cast<size_t>(op.axis)], order.back());
  const std::string moved = out.add("Transpose", {x});
  out.with("perm", order);
  const std::string product =
      out.add("MatMul", {moved, out.matrix(map.columns, map.rows(), dense)});
  std::string back = out.add("Transpose", {product});
  out.with("perm", order);
  return back;
}

std::string reduce(Exporter& out, const Node& node) {
  const auto& op = as<ops::Reduce>(node);
  const std::vector<int64_t> axes(op.axes.begin(), op.axes.end());
  const std::string x = out.name(node.inputs[0]);
  std::string result;
  if (op.kind == ops::ReduceKind::sum) {  // the only one whose axes are an input in set 17
    result = out.add("ReduceSum", {x, out.integers(axes)});
    out.with("keepdims", int64_t{0});
  } else {
    result = out.add(op.kind == ops::ReduceKind::mean ? "ReduceMean" : "ReduceMax", {x});
    out.with("axes", axes).with("keepdims", int64_t{0});
  }
  const bool all = out.shape(node.inputs[0]).rank() == static_cast<int>(axes.size());
  return all ? out.add("Reshape", {result, out.integers({1})}) : result;
}

}  // namespace

const std::map<std::string_view, Writer>& shape_writers() {
  static const std::map<std::string_view, Writer> writers = {
      {"reshape", reshape},     {"concat", concat},
      {"slice", slice},         {"pad", pad},
      {"transpose", transpose}, {"literal", literal},
      {"broadcast", broadcast}, {"axis_map", axis_map},
      {"reduce_sum", reduce},   {"reduce_mean", reduce},
      {"reduce_max", reduce},
  };
  return writers;
}

}  // namespace syrtos::onnx
