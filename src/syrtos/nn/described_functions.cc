// Functions of values in described networks: element by element, over axes, of shapes.
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

#include "syrtos/base/error.h"
#include "syrtos/nn/described_layer.h"
#include "syrtos/ops/binary.h"
#include "syrtos/ops/composed.h"
#include "syrtos/ops/pointwise.h"
#include "syrtos/ops/reduce.h"
#include "syrtos/ops/shaping.h"

namespace syrtos::nn {

namespace {

using ops::BinaryKind;
using ops::PointwiseKind;
using ops::ReduceKind;

constexpr int64_t kMost = int64_t{1} << 31;

ValueId apply(const LayerPlace& p, PointwiseKind kind, float alpha = 0, float beta = 0) {
  return p.builder.graph().add_one(std::make_shared<ops::Pointwise>(kind, alpha, beta),
                                   {p.inputs[0]});
}

template <PointwiseKind kKind>
ValueId function(const DescribedLayer& /*layer*/, const LayerPlace& p) {
  return apply(p, kKind);
}

ValueId leaky_relu(const DescribedLayer& layer, const LayerPlace& p) {
  return apply(p, PointwiseKind::leaky_relu, layer.number("slope", 0.01F));
}

ValueId elu(const DescribedLayer& layer, const LayerPlace& p) {
  return apply(p, PointwiseKind::elu, layer.number("alpha", 1));
}

ValueId hard_sigmoid(const DescribedLayer& /*layer*/, const LayerPlace& p) {
  return apply(p, PointwiseKind::hard_sigmoid, 1.0F / 6, 0.5F);
}

ValueId clip(const DescribedLayer& layer, const LayerPlace& p) {
  const float least = layer.number("least", 0);
  const float most = layer.number("most", 6);
  if (least > most) layer.fail(fmt::format("expected least up to most, found {} {}", least, most));
  return apply(p, PointwiseKind::clip, least, most);
}

/// A number beside the value, in its type.
ValueId constant(const LayerPlace& p, float value) {
  graph::Graph& graph = p.builder.graph();
  Tensor number({DType::f32, {1}});
  *number.as<float>() = value;
  const DType type = graph.type(p.inputs[0]).dtype;
  const ValueId literal = ops::literal(graph, std::move(number));
  return type == DType::f32 ? literal : ops::cast(graph, literal, type);
}

ValueId shift(const DescribedLayer& layer, const LayerPlace& p) {
  return ops::binary(p.builder.graph(), BinaryKind::add, p.inputs[0],
                     constant(p, layer.number("by", 0)));
}

ValueId power(const DescribedLayer& layer, const LayerPlace& p) {
  return ops::binary(p.builder.graph(), BinaryKind::power, p.inputs[0],
                     constant(p, layer.number("exponent", 1)));
}

/// Of axes that count from 1, the batch being 0, or from the end.
int64_t axis_of(const DescribedLayer& layer, int64_t axis, const Shape& shape) {
  const int64_t found = axis < 0 ? axis + shape.rank() : axis;
  if (found >= 1 && found < shape.rank()) return found;
  layer.fail(fmt::format("axis: expected one of {} from 1 on, found {}", shape_text(shape), axis));
}

template <bool kLog>
ValueId softmax(const DescribedLayer& layer, const LayerPlace& p) {
  const int64_t axis = layer.integer("axis", -1, -Shape::kMaxRank, Shape::kMaxRank);
  return ops::softmax(p.builder.graph(), p.inputs[0],
                      axis_of(layer, axis, p.builder.shape(p.inputs[0])), kLog);
}

template <BinaryKind kKind>
ValueId binary(const DescribedLayer& layer, const LayerPlace& p) {
  ValueId result = p.inputs[0];
  for (size_t i = 1; i < p.inputs.size(); ++i) {
    const Shape& a = p.builder.shape(result);
    const Shape& b = p.builder.shape(p.inputs[i]);
    bool fits = a.rank() == b.rank();
    for (int axis = 1; fits && axis < a.rank(); ++axis) {
      fits = a[axis] == b[axis] || a[axis] == 1 || b[axis] == 1;
    }
    if (!fits) {
      layer.fail(
          fmt::format("expected shapes that are the same or 1 along each axis, found {} of "
                      "{} and {} of {}",
                      shape_text(a), layer.of()[0], shape_text(b), layer.of()[i]));
    }
    result = ops::binary(p.builder.graph(), kKind, result, p.inputs[i]);
  }
  return result;
}

ValueId matmul(const DescribedLayer& layer, const LayerPlace& p) {
  const Shape& a = p.builder.shape(p.inputs[0]);
  const Shape& b = p.builder.shape(p.inputs[1]);
  if (a.rank() < 3 || b.rank() != a.rank() || a[a.rank() - 1] != b[b.rank() - 2]) {
    layer.fail(
        fmt::format("expected [batch, ..., rows, n] and [batch, ..., n, columns], found {} "
                    "of {} and {} of {}",
                    shape_text(a), layer.of()[0], shape_text(b), layer.of()[1]));
  }
  return ops::matmul(p.builder.graph(), p.inputs[0], p.inputs[1]);
}

template <ReduceKind kKind>
ValueId reduce(const DescribedLayer& layer, const LayerPlace& p) {
  const Shape& shape = p.builder.shape(p.inputs[0]);
  std::vector<int64_t> axes = layer.integers("axes", -Shape::kMaxRank, Shape::kMaxRank);
  if (axes.empty()) layer.fail("expected axes, found none");
  for (int64_t& axis : axes) axis = axis_of(layer, axis, shape);
  return ops::reduce(p.builder.graph(), p.inputs[0], kKind, axes, layer.flag("keep", false));
}

ValueId reshape(const DescribedLayer& layer, const LayerPlace& p) {
  const Shape& from = p.builder.shape(p.inputs[0]);
  const std::vector<int64_t> asked = layer.integers("shape", -1, kMost);
  const int64_t elements = from.elements() / from[0];
  const auto open = std::count(asked.begin(), asked.end(), -1);
  int64_t known = 1;
  for (const int64_t extent : asked) {
    if (extent > 0 && known <= elements) known *= extent;
    if (extent == 0) known = 0;
  }
  const bool fits = known > 0 && open <= 1 &&
                    (open == 1 ? elements % known == 0 : elements == known) &&
                    asked.size() < static_cast<size_t>(Shape::kMaxRank);
  if (asked.empty() || !fits) {
    layer.fail(
        fmt::format("shape: expected one of {} values, one of them -1 at most, found [{}] "
                    "for {}",
                    elements, fmt::join(asked, ", "), shape_text(from)));
  }
  Shape to{from[0]};
  for (const int64_t extent : asked) to.append(extent == -1 ? elements / known : extent);
  return ops::reshape(p.builder.graph(), p.inputs[0], to);
}

ValueId transpose(const DescribedLayer& layer, const LayerPlace& p) {
  const Shape& shape = p.builder.shape(p.inputs[0]);
  std::vector<int64_t> order = layer.integers("order", 1, Shape::kMaxRank);
  std::vector<int64_t> sorted = order;
  std::sort(sorted.begin(), sorted.end());
  std::vector<int64_t> all(static_cast<size_t>(shape.rank() - 1));
  std::iota(all.begin(), all.end(), 1);
  if (sorted != all) {
    layer.fail(fmt::format("order: expected each of {} once, found [{}] for {}",
                           fmt::join(all, ", "), fmt::join(order, ", "), shape_text(shape)));
  }
  order.insert(order.begin(), 0);
  return ops::transpose(p.builder.graph(), p.inputs[0], order);
}

ValueId slice(const DescribedLayer& layer, const LayerPlace& p) {
  const Shape& shape = p.builder.shape(p.inputs[0]);
  const int64_t axis =
      axis_of(layer, layer.integer("axis", 1, -Shape::kMaxRank, Shape::kMaxRank), shape);
  const int64_t start = layer.integer("start", 0, -kMost, kMost);
  const int64_t end = layer.integer("end", kMost, -kMost, kMost);
  const int64_t extent = shape[static_cast<int>(axis)];
  const auto within = [&](int64_t at) {
    return std::clamp<int64_t>(at < 0 ? at + extent : at, 0, extent);
  };
  if (within(start) >= within(end)) {
    layer.fail(fmt::format("expected something of the {} along axis {}, found {} to {}", extent,
                           axis, start, end));
  }
  const std::array<ops::SliceRange, 1> range{
      {{.axis = axis, .start = within(start), .end = within(end)}}};
  return ops::slice(p.builder.graph(), p.inputs[0], range);
}

}  // namespace

LayerRules function_rules() {
  constexpr int kMany = 1000;
  return {
      {"leaky_relu", {.attributes = {"slope"}, .add = leaky_relu}},
      {"elu", {.attributes = {"alpha"}, .add = elu}},
      {"softplus", {.add = function<PointwiseKind::softplus>}},
      {"hard_sigmoid", {.add = hard_sigmoid}},
      {"hard_swish", {.add = function<PointwiseKind::hard_swish>}},
      {"silu", {.add = function<PointwiseKind::silu>}},
      {"clip", {.attributes = {"least", "most"}, .add = clip}},
      {"shift", {.attributes = {"by"}, .add = shift}},
      {"power", {.attributes = {"exponent"}, .add = power}},
      {"exp", {.add = function<PointwiseKind::exponential>}},
      {"log", {.add = function<PointwiseKind::logarithm>}},
      {"sqrt", {.add = function<PointwiseKind::square_root>}},
      {"abs", {.add = function<PointwiseKind::absolute>}},
      {"softmax", {.attributes = {"axis"}, .add = softmax<false>}},
      {"log_softmax", {.attributes = {"axis"}, .add = softmax<true>}},
      {"subtract", {.least = 2, .most = 2, .add = binary<BinaryKind::subtract>}},
      {"multiply", {.least = 2, .most = kMany, .add = binary<BinaryKind::multiply>}},
      {"divide", {.least = 2, .most = 2, .add = binary<BinaryKind::divide>}},
      {"minimum", {.least = 2, .most = kMany, .add = binary<BinaryKind::minimum>}},
      {"maximum", {.least = 2, .most = kMany, .add = binary<BinaryKind::maximum>}},
      {"matmul", {.least = 2, .most = 2, .add = matmul}},
      {"mean", {.attributes = {"axes", "keep"}, .add = reduce<ReduceKind::mean>}},
      {"sum", {.attributes = {"axes", "keep"}, .add = reduce<ReduceKind::sum>}},
      {"max", {.attributes = {"axes", "keep"}, .add = reduce<ReduceKind::max>}},
      {"reshape", {.attributes = {"shape"}, .add = reshape}},
      {"transpose", {.attributes = {"order"}, .add = transpose}},
      {"slice", {.attributes = {"axis", "start", "end"}, .add = slice}},
  };
}

}  // namespace syrtos::nn
