#include "syrtos/ops/shaping.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "syrtos/base/error.h"
#include "syrtos/ops/axis_map.h"
#include "syrtos/ops/binary.h"
#include "syrtos/ops/gather.h"
#include "syrtos/ops/reduce.h"
#include "syrtos/ops/reshape.h"
#include "syrtos/ops/slice.h"
#include "syrtos/ops/transpose.h"
#include "syrtos/tensor/extents.h"

namespace syrtos::ops {

namespace {

std::vector<bool> marked(std::span<const int64_t> axes, int rank, std::string_view what) {
  std::vector<bool> marks(static_cast<size_t>(rank));
  for (const int64_t axis : axes) {
    const auto i = static_cast<size_t>(axis_from_start(axis, rank));
    if (marks[i]) fail_request("[{}] axis {} is named twice", what, axis);
    marks[i] = true;
  }
  return marks;
}

// A map names elements one by one: far above any image.
constexpr int64_t kMostNamed = int64_t{1} << 24;

/// A range within an axis: first element, step and number.
struct Steps {
  int64_t first;
  int64_t step;
  int64_t count;
};

Steps steps_within(const SliceRange& range, int64_t extent, const Shape& shape) {
  if (range.step == 0) fail_request("[slice] a step of 0 along axis {}", range.axis);
  const bool forward = range.step > 0;
  const auto within = [&](int64_t position, int64_t low, int64_t high) {
    if (position < 0) position = position < -extent ? -1 : position + extent;
    return std::clamp(position, low, high);
  };
  const int64_t first = within(range.start, 0, forward ? extent : extent - 1);
  const int64_t end = forward ? within(range.end, 0, extent)
                              : (range.end < -extent ? -1 : within(range.end, -1, extent - 1));
  const int64_t distance = forward ? end - first : first - end;
  // A step beyond the whole axis takes one element, however far it is.
  const int64_t pace = forward ? range.step : -std::max(range.step, -extent - 1);
  const int64_t count = distance <= 0 ? 0 : (distance - 1) / pace + 1;
  if (count == 0) {
    fail_request("[slice] nothing is left of axis {} of {}: from {} to {} by {}", range.axis,
                 to_string(shape), range.start, range.end, range.step);
  }
  return {first, count == 1 ? 1 : range.step, count};
}

ValueId add_map(GraphBuilder& graph, ValueId x, int axis, SparseRows map) {
  return graph.add_one(
      std::make_shared<AxisMap>(axis, std::make_shared<const SparseRows>(std::move(map))), {x});
}

/// Equal steps forward are a slice, which any type of element can have.
ValueId take(GraphBuilder& graph, ValueId x, int axis, const Steps& steps) {
  const Shape shape = graph.type(x).shape;
  auto op = std::make_shared<Slice>();
  op->begin = shape;
  op->size = shape;
  op->stride = shape;
  for (int i = 0; i < shape.rank(); ++i) op->begin[i] = 0;
  for (int i = 0; i < shape.rank(); ++i) op->stride[i] = 1;
  op->begin[axis] = steps.first;
  op->size[axis] = steps.count;
  op->stride[axis] = steps.step;
  return op->size == shape ? x : graph.add_one(op, {x});
}

void require_nameable(std::string_view what, int64_t extent, const Shape& shape) {
  if (extent > kMostNamed) {
    fail_request("[{}] expected at most {} elements along an axis of {}, found {}", what,
                 kMostNamed, to_string(shape), extent);
  }
}

/// Elements along an axis in the given order.
ValueId pick(GraphBuilder& graph, ValueId x, int axis, std::span<const int64_t> indices) {
  const Shape shape = graph.type(x).shape;
  const int64_t step = indices.size() > 1 ? indices[1] - indices[0] : 1;
  bool regular = step > 0;
  for (size_t i = 1; i < indices.size(); ++i) {
    regular = regular && indices[i] - indices[i - 1] == step;
  }
  if (regular) {
    return take(graph, x, axis, {indices[0], step, static_cast<int64_t>(indices.size())});
  }
  require_nameable("gather", shape[axis], shape);
  SparseRows map;
  map.columns = shape[axis];
  for (const int64_t index : indices) {
    map.add(index, 1);
    map.end_row();
  }
  return add_map(graph, x, axis, std::move(map));
}

/// Which element stands at a position outside of an axis; the axis has at least one.
int64_t padded_index(PadMode mode, int64_t position, int64_t extent) {
  if (mode == PadMode::edge || extent == 1) return std::clamp<int64_t>(position, 0, extent - 1);
  const int64_t period = mode == PadMode::wrap ? extent : 2 * (extent - 1);
  const int64_t index = (position % period + period) % period;
  return index < extent ? index : period - index;
}

}  // namespace

int axis_from_start(int64_t axis, int rank) {
  if (axis < -rank || axis >= rank) {
    fail_request("there is no axis {} among {}: expected {} to {}", axis, rank, -rank, rank - 1);
  }
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

ValueId reshape(GraphBuilder& graph, ValueId x, const Shape& shape) {
  if (graph.type(x).shape == shape) return x;
  return graph.add_one(std::make_shared<Reshape>(shape), {x});
}

ValueId flatten(GraphBuilder& graph, ValueId x, int64_t axis) {
  const Shape shape = graph.type(x).shape;
  const int from = axis == shape.rank() ? shape.rank() : axis_from_start(axis, shape.rank());
  const int64_t rest = shape.elements_from(from);
  return reshape(graph, x, {shape.elements() / std::max<int64_t>(rest, 1), rest});
}

ValueId squeeze(GraphBuilder& graph, ValueId x, std::span<const int64_t> axes) {
  const Shape shape = graph.type(x).shape;
  const std::vector<bool> marks = marked(axes, shape.rank(), "squeeze");
  Shape rest;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    const bool named = marks[static_cast<size_t>(axis)];
    if (named && shape[axis] != 1) {
      fail_request("[squeeze] axis {} of {} has more than one element", axis, to_string(shape));
    }
    if (named || (axes.empty() && shape[axis] == 1)) continue;
    rest.append(shape[axis]);
  }
  return reshape(graph, x, rest);
}

ValueId unsqueeze(GraphBuilder& graph, ValueId x, std::span<const int64_t> axes) {
  const Shape shape = graph.type(x).shape;
  const int rank = shape.rank() + static_cast<int>(axes.size());
  if (rank > Shape::kMaxRank) {
    fail_request("[unsqueeze] {} with {} more axes has more than {}", to_string(shape), axes.size(),
                 Shape::kMaxRank);
  }
  const std::vector<bool> marks = marked(axes, rank, "unsqueeze");
  Shape result;
  int next = 0;
  for (const bool mark : marks) result.append(mark ? 1 : shape[next++]);
  return reshape(graph, x, result);
}

ValueId transpose(GraphBuilder& graph, ValueId x, std::span<const int64_t> order) {
  const int rank = graph.type(x).shape.rank();
  std::vector<int> axes;
  for (const int64_t axis : order) axes.push_back(axis_from_start(axis, rank));
  for (int axis = rank - 1; order.empty() && axis >= 0; --axis) axes.push_back(axis);
  if (static_cast<int>(axes.size()) == rank && std::is_sorted(axes.begin(), axes.end()) &&
      std::adjacent_find(axes.begin(), axes.end()) == axes.end()) {
    return x;
  }
  return graph.add_one(std::make_shared<Transpose>(std::move(axes)), {x});
}

ValueId expand(GraphBuilder& graph, ValueId x, const Shape& shape) {
  auto op = std::make_shared<Broadcast>();
  const Shape from = graph.type(x).shape;
  op->shape = broadcast_shape(*op, from, shape);
  Shape kept;
  for (int axis = 0; axis < op->shape.rank(); ++axis) {
    const int own = axis - op->shape.rank() + from.rank();
    const bool repeated = own < 0 || (from[own] == 1 && op->shape[axis] != 1);
    if (repeated) {
      op->axes.push_back(axis);
    } else {
      kept.append(op->shape[axis]);
    }
  }
  if (op->shape.elements() == from.elements()) return reshape(graph, x, op->shape);
  if (kept.rank() == 0) kept.append(1);
  x = reshape(graph, x, kept);
  return graph.add_one(op, {x});
}

ValueId slice(GraphBuilder& graph, ValueId x, std::span<const SliceRange> ranges) {
  const Shape shape = graph.type(x).shape;
  for (const SliceRange& range : ranges) {
    const int axis = axis_from_start(range.axis, shape.rank());
    const Steps steps = steps_within(range, graph.type(x).shape[axis], shape);
    if (steps.step > 0) {
      x = take(graph, x, axis, steps);
      continue;
    }
    require_nameable("slice", steps.count, shape);
    std::vector<int64_t> indices;
    for (int64_t i = 0; i < steps.count; ++i) indices.push_back(steps.first + i * steps.step);
    x = pick(graph, x, axis, indices);
  }
  return x;
}

std::vector<ValueId> split(GraphBuilder& graph, ValueId x, int64_t axis,
                           std::span<const int64_t> extents) {
  const Shape shape = graph.type(x).shape;
  const int along = axis_from_start(axis, shape.rank());
  int64_t left = shape[along];
  bool fits = true;
  for (const int64_t extent : extents) {
    fits = fits && extent >= 1 && extent <= left;
    if (fits) left -= extent;
  }
  if (!fits || left != 0) {
    fail_request("[split] parts of [{}] do not fill axis {} of {}", fmt::join(extents, ", "), along,
                 to_string(shape));
  }
  std::vector<ValueId> parts;
  int64_t position = 0;
  for (const int64_t extent : extents) {
    parts.push_back(take(graph, x, along, {position, 1, extent}));
    position += extent;
  }
  return parts;
}

ValueId pad(GraphBuilder& graph, ValueId x, std::span<const int64_t> before,
            std::span<const int64_t> after, PadMode mode, float value) {
  const Shape shape = graph.type(x).shape;
  const auto rank = static_cast<size_t>(shape.rank());
  if (before.size() != rank || after.size() != rank) {
    fail_request("[pad] expected one number for each of the axes of {}, found {} and {}",
                 to_string(shape), before.size(), after.size());
  }
  auto op = std::make_shared<Pad>();
  op->value = value;
  bool grows = false;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    const int64_t first = before[static_cast<size_t>(axis)];
    const int64_t last = after[static_cast<size_t>(axis)];
    const bool constant = mode == PadMode::constant;
    if (std::max(first, last) > kMaxElements || std::min(first, last) < -shape[axis]) {
      fail_request(
          "[pad] expected at most {} elements more and {} less along axis {} of {}, found {} and "
          "{}",
          kMaxElements, shape[axis], axis, to_string(shape), first, last);
    }
    op->before.append(std::max<int64_t>(first, 0));
    op->after.append(std::max<int64_t>(last, 0));
    op->between.append(0);
    grows = grows || (constant && (first > 0 || last > 0));
    // What is cut off, and all other modes, are elements of x in some order.
    const int64_t begin = constant ? std::max<int64_t>(-first, 0) : -first;
    const int64_t end = shape[axis] + (constant ? std::min<int64_t>(last, 0) : last);
    if (begin >= end)
      fail_request("[pad] nothing is left of axis {} of {}", axis, to_string(shape));
    if (begin >= 0 && end <= shape[axis]) {
      x = take(graph, x, axis, {begin, 1, end - begin});
      continue;
    }
    require_nameable("pad", end - begin, shape);
    std::vector<int64_t> indices;
    for (int64_t i = begin; i < end; ++i) indices.push_back(padded_index(mode, i, shape[axis]));
    x = pick(graph, x, axis, indices);
  }
  return grows ? graph.add_one(op, {x}) : x;
}

ValueId gather(GraphBuilder& graph, ValueId x, int64_t axis, std::span<const int64_t> indices,
               const Shape& indices_shape) {
  const Shape shape = graph.type(x).shape;
  const int along = axis_from_start(axis, shape.rank());
  SYRTOS_CHECK(static_cast<int64_t>(indices.size()) == indices_shape.elements(),
               "{} indices for {}", indices.size(), to_string(indices_shape));
  std::vector<int64_t> rows;
  for (int64_t index : indices) {
    if (index < -shape[along] || index >= shape[along]) {
      fail_request("[gather] index {} is not within axis {} of {}", index, along, to_string(shape));
    }
    rows.push_back(index < 0 ? index + shape[along] : index);
  }
  if (rows.empty()) fail_request("[gather] there are no indices for {}", to_string(shape));
  const int rank = shape.rank() - 1 + indices_shape.rank();
  if (rank > Shape::kMaxRank) {
    fail_request("[gather] indices {} make of {} more than {} axes", to_string(indices_shape),
                 to_string(shape), Shape::kMaxRank);
  }
  x = pick(graph, x, along, rows);
  Shape result;
  for (int i = 0; i < along; ++i) result.append(shape[i]);
  for (const int64_t extent : indices_shape) result.append(extent);
  for (int i = along + 1; i < shape.rank(); ++i) result.append(shape[i]);
  return reshape(graph, x, result);
}

ValueId gather(GraphBuilder& graph, ValueId x, int64_t axis, ValueId indices) {
  const int along = axis_from_start(axis, graph.type(x).shape.rank());
  return graph.add_one(std::make_shared<Gather>(along), {x, indices});
}

}  // namespace syrtos::ops
