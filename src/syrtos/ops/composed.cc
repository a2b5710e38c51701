#include "syrtos/ops/composed.h"

#include <algorithm>
#include <numeric>

#include "syrtos/base/error.h"
#include "syrtos/ops/arithmetic.h"
#include "syrtos/ops/bias.h"
#include "syrtos/ops/cast.h"
#include "syrtos/ops/group_norm.h"
#include "syrtos/ops/layer_norm.h"
#include "syrtos/ops/literal.h"
#include "syrtos/ops/matmul.h"
#include "syrtos/ops/shaping.h"
#include "syrtos/ops/softmax.h"

namespace syrtos::ops {

namespace {

/// The type that two values meet in.
DType common_type(const GraphBuilder& graph, ValueId a, ValueId b) {
  const DType first = graph.type(a).dtype;
  const DType second = graph.type(b).dtype;
  return first == second ? first : DType::bf16;
}

ValueId product(GraphBuilder& graph, ValueId a, ValueId b, bool transpose_a, bool transpose_b) {
  auto op = std::make_shared<MatMul>();
  op->transpose_a = transpose_a;
  op->transpose_b = transpose_b;
  return graph.add_one(op, {a, b});
}

ValueId scaled(GraphBuilder& graph, ValueId x, float factor) {
  return factor == 1 ? x : graph.add_one(std::make_shared<Scale>(factor), {x});
}

/// Scales or shifts in f32; one number everywhere where there are none.
ValueId coefficients(GraphBuilder& graph, ValueId given, const Shape& shape, float otherwise) {
  if (given != kNone) return cast(graph, given, DType::f32);
  auto constant = std::make_shared<Constant>();
  constant->type = {DType::f32, shape};
  constant->value = otherwise;
  return graph.add_one(constant, {});
}

/// All axes from the first spatial one on.
std::vector<int64_t> spatial_axes(const Shape& shape) {
  std::vector<int64_t> axes;
  for (int axis = 2; axis < shape.rank(); ++axis) axes.push_back(axis);
  return axes;
}

}  // namespace

ValueId literal(GraphBuilder& graph, Tensor value) {
  return graph.add_one(std::make_shared<Literal>(std::move(value)), {});
}

ValueId cast(GraphBuilder& graph, ValueId x, DType dtype) {
  if (graph.type(x).dtype == dtype) return x;
  return graph.add_one(std::make_shared<Cast>(dtype), {x});
}

ValueId binary(GraphBuilder& graph, BinaryKind kind, ValueId a, ValueId b) {
  const DType dtype = common_type(graph, a, b);
  a = cast(graph, a, dtype);
  b = cast(graph, b, dtype);
  const bool same = graph.type(a) == graph.type(b);
  if (same && kind == BinaryKind::add) return graph.add_one(std::make_shared<Add>(), {a, b});
  if (same && kind == BinaryKind::multiply) {
    return graph.add_one(std::make_shared<Multiply>(), {a, b});
  }
  return graph.add_one(std::make_shared<Binary>(kind), {a, b});
}

ValueId matmul(GraphBuilder& graph, ValueId a, ValueId b) {
  const DType dtype = common_type(graph, a, b);
  a = cast(graph, a, dtype);
  b = cast(graph, b, dtype);
  const Shape left = graph.type(a).shape;
  const Shape right = graph.type(b).shape;
  if (left.rank() < 1 || right.rank() < 1) {
    fail_request("[matmul] expected at least one axis each, found {} and {}", to_string(left),
                 to_string(right));
  }
  if (left.rank() == 1) a = reshape(graph, a, {1, left[0]});
  if (right.rank() == 1) b = reshape(graph, b, {right[0], 1});
  const Shape rows = graph.type(a).shape;
  ValueId y = kNone;
  Shape result;
  if (rows.rank() > 2 && graph.type(b).shape.rank() == 2) {
    // One matrix for all: their rows below each other are one product.
    const int64_t inner = rows[rows.rank() - 1];
    y = product(graph, reshape(graph, a, {rows.elements() / inner, inner}), b, false, false);
    result = rows;
    result[rows.rank() - 1] = graph.type(y).shape[1];
  } else {
    y = product(graph, a, b, false, false);
    result = graph.type(y).shape;
  }
  Shape kept;
  for (int axis = 0; axis < result.rank(); ++axis) {
    const bool made = (axis == result.rank() - 2 && left.rank() == 1) ||
                      (axis == result.rank() - 1 && right.rank() == 1);
    if (!made) kept.append(result[axis]);
  }
  if (kept.rank() == 0) kept.append(1);
  return reshape(graph, y, kept);
}

ValueId gemm(GraphBuilder& graph, ValueId a, ValueId b, ValueId c, const GemmOptions& options) {
  const DType dtype = common_type(graph, a, b);
  ValueId y = product(graph, cast(graph, a, dtype), cast(graph, b, dtype), options.transpose_a,
                      options.transpose_b);
  y = scaled(graph, y, options.alpha);
  if (c == kNone || options.beta == 0) return y;
  c = scaled(graph, c, options.beta);
  const int64_t columns = graph.type(y).shape[1];
  const TensorType bias = graph.type(c);
  const bool per_column = bias.dtype == DType::f32 && bias.shape.elements() == columns &&
                          bias.shape.rank() >= 1 && bias.shape[bias.shape.rank() - 1] == columns;
  if (!per_column) return binary(graph, BinaryKind::add, y, c);
  return graph.add_one(std::make_shared<BiasAdd>(), {y, reshape(graph, c, {columns})});
}

ValueId softmax(GraphBuilder& graph, ValueId x, int64_t axis, bool log) {
  const int rank = graph.type(x).shape.rank();
  const int along = axis_from_start(axis, rank);
  // Exchanging two axes undoes itself.
  std::vector<int64_t> order(static_cast<size_t>(rank));
  std::iota(order.begin(), order.end(), 0);
  std::swap(order[static_cast<size_t>(along)], order.back());
  if (along == 1 && rank > 2) {
    // Images lie with their channels last: this order costs nothing.
    order = {0};
    for (int i = 2; i < rank; ++i) order.push_back(i);
    order.push_back(1);
  }
  std::vector<int64_t> back(order.size());
  for (size_t i = 0; i < order.size(); ++i) {
    back[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);
  }
  x = transpose(graph, x, order);
  return transpose(graph, graph.add_one(std::make_shared<Softmax>(log), {x}), back);
}

ValueId reduce(GraphBuilder& graph, ValueId x, ReduceKind kind, std::span<const int64_t> axes,
               bool keep) {
  const Shape shape = graph.type(x).shape;
  auto op = std::make_shared<Reduce>();
  op->kind = kind;
  for (const int64_t axis : axes) op->axes.push_back(axis_from_start(axis, shape.rank()));
  for (int axis = 0; axes.empty() && axis < shape.rank(); ++axis) op->axes.push_back(axis);
  std::sort(op->axes.begin(), op->axes.end());
  Shape kept = shape;
  for (const int axis : op->axes) kept[axis] = 1;
  if (!op->axes.empty()) x = graph.add_one(op, {x});
  return keep ? reshape(graph, x, kept) : x;
}

ValueId global_pool(GraphBuilder& graph, ValueId x, PoolKind kind) {
  const Shape shape = graph.type(x).shape;
  if (shape.rank() < 3) return x;
  if (shape.rank() > 4) {
    return reduce(graph, x, kind == PoolKind::max ? ReduceKind::max : ReduceKind::mean,
                  spatial_axes(shape), true);
  }
  auto op = std::make_shared<Pool>();
  op->kind = kind;
  op->adaptive = true;
  op->window.axes = shape.rank() - 2;
  return graph.add_one(op, {x});
}

ValueId layer_norm(GraphBuilder& graph, ValueId x, int64_t axis, ValueId scale, ValueId shift,
                   float epsilon) {
  const Shape shape = graph.type(x).shape;
  auto op = std::make_shared<LayerNorm>();
  op->axis = axis_from_start(axis, shape.rank());
  op->epsilon = epsilon;
  const Shape row(std::span<const int64_t>(shape.begin() + op->axis, shape.end()));
  scale = coefficients(graph, scale, row, 1);
  shift = coefficients(graph, shift, row, 0);
  return graph.add_one(op, {x, scale, shift});
}

ValueId group_norm(GraphBuilder& graph, ValueId x, int64_t groups, ValueId scale, ValueId shift,
                   float epsilon) {
  const Shape shape = graph.type(x).shape;
  auto op = std::make_shared<GroupNorm>();
  op->groups = groups;
  op->epsilon = epsilon;
  const Shape channels{shape.rank() < 2 ? 0 : shape[1]};
  scale = coefficients(graph, scale, channels, 1);
  shift = coefficients(graph, shift, channels, 0);
  return graph.add_one(op, {x, scale, shift});
}

ValueId conv_transpose(GraphBuilder& graph, ValueId x, ValueId weights,
                       const ConvTransposeOptions& options) {
  const DType dtype = common_type(graph, x, weights);
  x = cast(graph, x, dtype);
  weights = cast(graph, weights, dtype);
  const Shape src = graph.type(x).shape;
  const Shape kernel = graph.type(weights).shape;
  auto op = std::make_shared<ConvBackwardData>();
  op->window = options.window;
  op->groups = options.groups;
  if (src.rank() != options.window.axes + 2 || kernel.rank() != src.rank()) {
    fail_request("[conv_transpose] expected x and weights with {} spatial axes, found {} and {}",
                 options.window.axes, to_string(src), to_string(kernel));
  }
  op->src_shape = {src[0], kernel[1] * options.groups};
  for (int axis = 0; axis < options.window.axes; ++axis) {
    const auto i = static_cast<size_t>(axis);
    const Window& w = options.window;
    op->src_shape.append(w.stride[i] * (src[axis + 2] - 1) + options.output_padding[i] +
                         w.dilation[i] * (w.kernel[i] - 1) + 1 - w.pad_begin[i] - w.pad_end[i]);
  }
  return graph.add_one(op, {x, weights});
}

}  // namespace syrtos::ops
