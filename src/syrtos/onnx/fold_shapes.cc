// What asks for shapes or moves numbers.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "syrtos/onnx/fold.h"

namespace syrtos::onnx {
namespace {

void shape(const Call& call) {
  const Shape of = call.shape(0);
  const auto rank = static_cast<int64_t>(of.rank());
  const auto within = [&](int64_t at) {
    return std::clamp<int64_t>(at < 0 ? at + rank : at, 0, rank);
  };
  const int64_t begin = within(call.integer("start", 0));
  const int64_t end = within(call.integer("end", rank));
  call.result(Array::of(begin < end ? std::vector<int64_t>(of.begin() + begin, of.begin() + end)
                                    : std::vector<int64_t>{}));
}

void size(const Call& call) { call.result(Array::scalar(call.shape(0).elements())); }

const Array& source(const Call& call) { return call.numbers(0, "a number"); }

void same_values(const Call& call, std::vector<int64_t> shape) {
  Array result = source(call);
  if (elements_of(call, shape) != result.elements()) {
    call.fail("[{}] does not become [{}]", fmt::join(result.shape, ", "), fmt::join(shape, ", "));
  }
  result.shape = std::move(shape);
  call.result(std::move(result));
}

std::vector<int> axes_of(const Call& call, int rank, size_t input = 1) {
  std::vector<int> axes;
  for (const int64_t axis : call.attribute_or_input("axes", input)) {
    axes.push_back(call.axis(axis, rank));
  }
  return axes;
}

bool contains(const std::vector<int>& axes, int axis) {
  return std::find(axes.begin(), axes.end(), axis) != axes.end();
}

void squeeze(const Call& call) {
  const std::vector<int64_t>& from = source(call).shape;
  const std::vector<int> axes = axes_of(call, static_cast<int>(from.size()));
  std::vector<int64_t> to;
  for (size_t i = 0; i < from.size(); ++i) {
    const bool goes = axes.empty() ? from[i] == 1 : contains(axes, static_cast<int>(i));
    if (!goes) to.push_back(from[i]);
  }
  same_values(call, to);
}

void unsqueeze(const Call& call) {
  const std::vector<int64_t>& from = source(call).shape;
  const size_t rank = from.size() + call.attribute_or_input("axes", 1).size();
  const std::vector<int> axes = axes_of(call, static_cast<int>(rank));
  std::vector<int64_t> to;
  size_t next = 0;
  for (size_t i = 0; i < rank; ++i) {
    const bool added = contains(axes, static_cast<int>(i));
    if (!added && next >= from.size()) call.fail("an axis is named twice");
    to.push_back(added ? 1 : from[next++]);
  }
  same_values(call, to);
}

void reshape(const Call& call) {
  const Array& from = source(call);
  std::vector<int64_t> to = call.integers(1, "a shape");
  int64_t known = 1;
  for (size_t i = 0; i < to.size(); ++i) {
    if (to[i] == 0 && i < from.shape.size()) to[i] = from.shape[i];
    if (to[i] != -1) known = elements_of(call, {known, to[i]});
  }
  const auto open = std::find(to.begin(), to.end(), -1);
  if (open != to.end()) *open = known == 0 ? 0 : from.elements() / known;
  same_values(call, to);
}

void concat(const Call& call) {
  const Array& first = source(call);
  const auto rank = static_cast<int>(first.shape.size());
  const auto axis = static_cast<size_t>(call.axis(call.integer("axis", 0), rank));
  Array result{.shape = first.shape};
  result.shape[axis] = 0;
  for (size_t i = 0; i < call.inputs(); ++i) {
    const Array& part = call.numbers(i, "a number");
    if (part.shape.size() != first.shape.size()) call.fail("expected parts of one rank");
    result.shape[axis] += part.shape[axis];
  }
  const auto count = static_cast<size_t>(elements_of(call, result.shape));
  std::vector<double> floats(count);
  std::vector<int64_t> whole(count);
  const std::vector<int64_t> strides = strides_of(result.shape);
  int64_t begin = 0;
  for (size_t i = 0; i < call.inputs(); ++i) {
    const Array& part = call.numbers(i, "a number");
    size_t next = 0;
    each_index(part.shape, [&](const std::vector<int64_t>& at) {
      int64_t to = begin * strides[axis];
      for (size_t a = 0; a < at.size(); ++a) to += at[a] * strides[a];
      if (to < 0 || static_cast<size_t>(to) >= count) call.fail("expected parts that fit");
      floats[static_cast<size_t>(to)] = part.number(next);
      if (!part.is_float()) whole[static_cast<size_t>(to)] = part.integers()[next];
      ++next;
    });
    begin += part.shape[axis];
  }
  if (first.is_float()) {
    result.values = std::move(floats);
  } else {
    result.values = std::move(whole);
  }
  call.result(std::move(result));
}

void gather(const Call& call) {
  const Array& from = source(call);
  const std::vector<int64_t> indices = call.integers(1, "indices");
  const std::vector<int64_t>& shape = call.numbers(1, "indices").shape;
  const auto rank = static_cast<int>(from.shape.size());
  const auto axis = static_cast<size_t>(call.axis(call.integer("axis", 0), rank));
  std::vector<int64_t> to(from.shape.begin(), from.shape.begin() + static_cast<int64_t>(axis));
  to.insert(to.end(), shape.begin(), shape.end());
  to.insert(to.end(), from.shape.begin() + static_cast<int64_t>(axis) + 1, from.shape.end());
  elements_of(call, to);
  const int64_t extent = from.shape[axis];
  const int64_t inner = strides_of(from.shape)[axis];
  const int64_t outer = from.elements() / std::max<int64_t>(1, extent * inner);
  std::vector<size_t> picks;
  for (int64_t o = 0; o < outer; ++o) {
    for (const int64_t given : indices) {
      const int64_t index = given < 0 ? given + extent : given;
      if (index < 0 || index >= extent) call.fail("index {} is out of {}", given, extent);
      for (int64_t i = 0; i < inner; ++i) {
        picks.push_back(static_cast<size_t>((o * extent + index) * inner + i));
      }
    }
  }
  call.result(picked(from, to, picks));
}

void slice(const Call& call) {
  const Array& from = source(call);
  const std::vector<int64_t> starts = call.attribute_or_input("starts", 1);
  const std::vector<int64_t> ends = call.attribute_or_input("ends", 2);
  std::vector<int64_t> axes = call.attribute_or_input("axes", 3);
  for (size_t i = axes.size(); i < starts.size(); ++i) axes.push_back(static_cast<int64_t>(i));
  std::vector<int64_t> steps = call.has(4) ? call.integers(4, "steps") : std::vector<int64_t>{};
  steps.resize(starts.size(), 1);
  if (ends.size() != starts.size()) call.fail("expected as many ends as starts");
  std::vector<int64_t> begin(from.shape.size(), 0);
  std::vector<int64_t> step(from.shape.size(), 1);
  std::vector<int64_t> to = from.shape;
  for (size_t i = 0; i < starts.size(); ++i) {
    const auto axis = static_cast<size_t>(call.axis(axes[i], static_cast<int>(from.shape.size())));
    const int64_t extent = from.shape[axis];
    if (steps[i] == 0) call.fail("expected a step, found 0");
    const bool back = steps[i] < 0;
    const auto within = [&](int64_t at) {
      const int64_t counted = at < -extent ? -1 : at < 0 ? at + extent : at;
      return std::clamp<int64_t>(counted, back ? -1 : 0, back ? extent - 1 : extent);
    };
    begin[axis] = within(starts[i]);
    step[axis] = steps[i];
    const int64_t span = back ? begin[axis] - within(ends[i]) : within(ends[i]) - begin[axis];
    const int64_t width = back ? -std::max<int64_t>(steps[i], -extent - 1) : steps[i];
    to[axis] = span <= 0 ? 0 : (span - 1) / width + 1;
  }
  const std::vector<int64_t> strides = strides_of(from.shape);
  std::vector<size_t> picks;
  each_index(to, [&](const std::vector<int64_t>& at) {
    int64_t index = 0;
    for (size_t a = 0; a < at.size(); ++a) index += (begin[a] + at[a] * step[a]) * strides[a];
    picks.push_back(static_cast<size_t>(index));
  });
  call.result(picked(from, to, picks));
}

/// Into the parts that the node says, or equal ones of which the last may be smaller.
void split(const Call& call) {
  const Array& from = source(call);
  const auto axis =
      static_cast<size_t>(call.axis(call.integer("axis", 0), static_cast<int>(from.shape.size())));
  const std::vector<int64_t> extents = call.split_extents(from.shape[axis]);
  const int64_t inner = strides_of(from.shape)[axis];
  const int64_t row = from.shape[axis] * inner;
  int64_t begin = 0;
  for (size_t part = 0; part < extents.size(); ++part) {
    std::vector<int64_t> shape = from.shape;
    shape[axis] = extents[part];
    std::vector<size_t> picks;
    for (int64_t at = 0; at < from.elements(); at += row) {
      for (int64_t i = 0; i < extents[part] * inner; ++i) {
        picks.push_back(static_cast<size_t>(at + begin * inner + i));
      }
    }
    call.result(picked(from, std::move(shape), picks), part);
    begin += extents[part];
  }
}

void transpose(const Call& call) {
  const Array& from = source(call);
  const auto rank = static_cast<int64_t>(from.shape.size());
  std::vector<int64_t> order;
  for (int64_t i = rank; i-- > 0;) order.push_back(i);
  order = call.integers("perm", order);
  std::vector<int64_t> sorted = order;
  std::sort(sorted.begin(), sorted.end());
  std::vector<int64_t> all(from.shape.size());
  std::iota(all.begin(), all.end(), 0);
  if (sorted != all) {
    call.fail("expected an order of {} axes, found [{}]", rank, fmt::join(order, ", "));
  }
  const std::vector<int64_t> strides = strides_of(from.shape);
  std::vector<int64_t> to;
  for (const int64_t axis : order) to.push_back(from.shape[static_cast<size_t>(axis)]);
  std::vector<size_t> picks;
  each_index(to, [&](const std::vector<int64_t>& at) {
    int64_t index = 0;
    for (size_t a = 0; a < at.size(); ++a) {
      index += at[a] * strides[static_cast<size_t>(order[a])];
    }
    picks.push_back(static_cast<size_t>(index));
  });
  call.result(picked(from, to, picks));
}

void expand(const Call& call) {
  const Array& from = source(call);
  call.result(expanded(from, broadcast_shape(call, from.shape, call.integers(1, "a shape"))));
}

/// Puts parts of the updates where the rows of indices say.
void scatter(const Call& call) {
  Array result = source(call);
  const Array& updates = call.numbers(2, "updates");
  const std::vector<int64_t> indices = call.integers(1, "indices");
  const std::vector<int64_t>& shape = call.numbers(1, "indices").shape;
  const int64_t depth = shape.empty() ? 0 : shape.back();
  if (depth < 1 || depth > static_cast<int64_t>(result.shape.size()) ||
      result.is_float() != updates.is_float() || call.text("reduction", "none") != "none") {
    call.fail("expected updates of one type and indices that fit [{}]",
              fmt::join(result.shape, ", "));
  }
  const std::vector<int64_t> strides = strides_of(result.shape);
  const auto part = static_cast<size_t>(strides[static_cast<size_t>(depth) - 1]);
  const size_t rows = indices.size() / static_cast<size_t>(depth);
  if (static_cast<size_t>(updates.elements()) != rows * part)
    call.fail("expected updates that fit");
  for (size_t row = 0; row < rows; ++row) {
    int64_t at = 0;
    for (size_t i = 0; i < static_cast<size_t>(depth); ++i) {
      const int64_t extent = result.shape[i];
      const int64_t given = indices[row * static_cast<size_t>(depth) + i];
      const int64_t index = given < 0 ? given + extent : given;
      if (index < 0 || index >= extent) call.fail("index {} is out of {}", given, extent);
      at += index * strides[i];
    }
    const auto copy = [&](auto& to, const auto& from) {
      const auto begin = from.begin() + static_cast<std::ptrdiff_t>(row * part);
      std::copy(begin, begin + static_cast<std::ptrdiff_t>(part), to.begin() + at);
    };
    if (result.is_float()) {
      copy(std::get<1>(result.values), updates.floats());
    } else {
      copy(std::get<0>(result.values), updates.integers());
    }
  }
  call.result(std::move(result));
}

/// Over all axes, or over the only one.
template <typename Join>
void reduce(const Call& call, double start, const Join& join) {
  const Array& from = source(call);
  const std::vector<int> axes = axes_of(call, static_cast<int>(from.shape.size()));
  if (axes.empty() && call.integer("noop_with_empty_axes", 0) != 0) return call.result(from);
  if (!axes.empty() && axes.size() != from.shape.size()) {
    call.fail("constants are only reduced over all axes");
  }
  double value = start;
  const auto count = static_cast<size_t>(from.elements());
  for (size_t i = 0; i < count; ++i) value = join(value, from.number(i));
  const bool keeps = call.integer("keepdims", 1) != 0;
  Array result{.shape = std::vector<int64_t>(keeps ? from.shape.size() : 0, 1)};
  if (from.is_float()) {
    result.values = std::vector<double>{value};
  } else {
    const double whole = std::isnan(value) ? 0 : std::clamp(value, -9e18, 9e18);
    result.values = std::vector<int64_t>{static_cast<int64_t>(whole)};
  }
  call.result(std::move(result));
}

}  // namespace

const Rules& shape_folds() {
  static const Rules rules = {
      {"Shape", shape},
      {"Size", size},
      {"Squeeze", squeeze},
      {"Unsqueeze", unsqueeze},
      {"Reshape", reshape},
      {"Concat", concat},
      {"Gather", gather},
      {"Slice", slice},
      {"Split", split},
      {"Transpose", transpose},
      {"Expand", expand},
      {"ScatterND", scatter},
      {"ReduceProd", [](const Call& c) { reduce(c, 1, [](double a, double b) { return a * b; }); }},
      {"ReduceSum", [](const Call& c) { reduce(c, 0, [](double a, double b) { return a + b; }); }},
      {"ReduceMax",
       [](const Call& c) { reduce(c, -9e18, [](double a, double b) { return std::max(a, b); }); }},
      {"ReduceMin",
       [](const Call& c) { reduce(c, 9e18, [](double a, double b) { return std::min(a, b); }); }},
  };
  return rules;
}

}  // namespace syrtos::onnx
