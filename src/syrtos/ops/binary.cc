#include "syrtos/ops/binary.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "syrtos/ops/arithmetic.h"
#include "syrtos/ops/reduce.h"
#include "syrtos/ops/reshape.h"

namespace syrtos::ops {

namespace {

struct Names {
  std::string_view forward;
  std::string_view first;
  std::string_view second;
};

/// In the order of BinaryKind.
constexpr std::array<Names, 9> kNames{{
    {"broadcast_add", "broadcast_add.backward_a", "broadcast_add.backward_b"},
    {"subtract", "subtract.backward_a", "subtract.backward_b"},
    {"broadcast_multiply", "broadcast_multiply.backward_a", "broadcast_multiply.backward_b"},
    {"divide", "divide.backward_a", "divide.backward_b"},
    {"power", "power.backward_a", "power.backward_b"},
    {"minimum", "minimum.backward_a", "minimum.backward_b"},
    {"maximum", "maximum.backward_a", "maximum.backward_b"},
    {"prelu", "prelu.backward_a", "prelu.backward_b"},
    {"equal", "equal.backward_a", "equal.backward_b"},
}};

}  // namespace

Shape broadcast_shape(const Op& op, const Shape& a, const Shape& b) {
  Shape result;
  const int rank = std::max(a.rank(), b.rank());
  for (int axis = 0; axis < rank; ++axis) {
    const int in_a = axis - rank + a.rank();
    const int in_b = axis - rank + b.rank();
    const int64_t x = in_a < 0 ? 1 : a[in_a];
    const int64_t y = in_b < 0 ? 1 : b[in_b];
    if (x != y && x != 1 && y != 1) {
      fail_shape(op, fmt::format("{} and {} do not fit: expected equal extents or 1 along each "
                                 "axis from the last one on, found {} and {}",
                                 to_string(a), to_string(b), x, y));
    }
    result.append(x == 1 ? y : x);
  }
  return result;
}

std::string_view Binary::name() const { return kNames[static_cast<size_t>(kind)].forward; }

std::vector<TensorType> Binary::infer(std::span<const TensorType> inputs) const {
  require_inputs(*this, inputs, 2);
  require_float(*this, inputs[0], "a");
  if (inputs[0].dtype != inputs[1].dtype) {
    fail_shape(*this, fmt::format("expected one type, found {} and {}", to_string(inputs[0]),
                                  to_string(inputs[1])));
  }
  return {{inputs[0].dtype, broadcast_shape(*this, inputs[0].shape, inputs[1].shape)}};
}

std::vector<ValueId> Binary::gradient(GraphBuilder& graph, std::span<const ValueId> inputs,
                                      std::span<const ValueId> /*outputs*/,
                                      std::span<const ValueId> output_gradients) const {
  if (kind == BinaryKind::equal) return {kNone, kNone};
  const ValueId diff = output_gradients[0];
  std::array<ValueId, 2> full{diff, diff};
  switch (kind) {
    case BinaryKind::add:
      break;
    case BinaryKind::subtract:
      full[1] = graph.add_one(std::make_shared<Scale>(-1.0F), {diff});
      break;
    case BinaryKind::multiply:
      full[0] = graph.add_one(std::make_shared<Binary>(BinaryKind::multiply), {diff, inputs[1]});
      full[1] = graph.add_one(std::make_shared<Binary>(BinaryKind::multiply), {diff, inputs[0]});
      break;
    default:
      for (const bool second : {false, true}) {
        full[second ? 1 : 0] = graph.add_one(std::make_shared<BinaryBackward>(kind, second),
                                             {inputs[0], inputs[1], diff});
      }
  }
  const Shape a = graph.type(inputs[0]).shape;
  const Shape b = graph.type(inputs[1]).shape;
  return {sum_to(graph, full[0], a), sum_to(graph, full[1], b)};
}

std::string_view BinaryBackward::name() const {
  const Names& names = kNames[static_cast<size_t>(kind)];
  return second ? names.second : names.first;
}

std::vector<TensorType> BinaryBackward::infer(std::span<const TensorType> inputs) const {
  require_inputs(*this, inputs, 3);
  require_float(*this, inputs[2], "diff_dst");
  const Shape dst = broadcast_shape(*this, inputs[0].shape, inputs[1].shape);
  require_type(*this, inputs[2], {inputs[0].dtype, dst}, "diff_dst");
  return {inputs[2]};
}

ValueId sum_to(GraphBuilder& graph, ValueId value, Shape shape) {
  const Shape from = graph.type(value).shape;
  if (from == shape) return value;
  auto reduce = std::make_shared<Reduce>();
  for (int axis = 0; axis < from.rank(); ++axis) {
    const int kept = axis - from.rank() + shape.rank();
    if (kept < 0 || shape[kept] != from[axis]) reduce->axes.push_back(axis);
  }
  const ValueId sum = reduce->axes.empty() ? value : graph.add_one(reduce, {value});
  if (graph.type(sum).shape == shape) return sum;
  return graph.add_one(std::make_shared<Reshape>(shape), {sum});
}

}  // namespace syrtos::ops
