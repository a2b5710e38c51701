// What only moves values.
#include "syrtos/ops/shaping.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "syrtos/onnx/importer.h"
#include "syrtos/ops/concat.h"
#include "syrtos/ops/to_indices.h"

namespace syrtos::onnx {
namespace {

/// The extents that a file asks for: 0 keeps one, -1 is whatever is left.
std::optional<Shape> resolved(const Call& call, std::vector<int64_t> wanted, const Shape& from) {
  const bool keeps_zeros = call.integer("allowzero", 0) != 0;
  int64_t known = 1;
  std::optional<size_t> open;
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i] == 0 && !keeps_zeros) {
      if (static_cast<int>(i) >= from.rank()) return std::nullopt;
      wanted[i] = from[static_cast<int>(i)];
    }
    if (wanted[i] == -1) {
      if (open) return std::nullopt;
      open = i;
    } else {
      if (wanted[i] < 1 || known > from.elements() / wanted[i]) return std::nullopt;
      known *= wanted[i];
    }
  }
  if (open) {
    if (from.elements() % known != 0) return std::nullopt;
    wanted[*open] = from.elements() / known;
    known *= wanted[*open];
  }
  if (known != from.elements()) return std::nullopt;
  return Shape(wanted);
}

/// The rank that a file asks for is not larger than shapes have.
void require_rank(const Call& call, size_t rank) {
  if (rank > static_cast<size_t>(Shape::kMaxRank)) {
    call.fail("expected at most {} axes, found {}", Shape::kMaxRank, rank);
  }
}

void reshape(const Call& call) {
  const std::vector<int64_t> wanted = call.integers(1, "a shape");
  require_rank(call, wanted.size());
  const auto stated = [&](const Shape& from) {
    if (const auto shape = resolved(call, wanted, from)) return *shape;
    call.fail("{} does not become [{}]: were the images of another size?", to_string(from),
              fmt::join(wanted, ", "));
  };
  const ValueId x = call.tensor(0);
  BatchPlan* plan = call.other_batch(1);
  const Shape shape = plan == nullptr
                          ? stated(call.shape(0))
                          : plan->reshaped(call.node(), call.builder().graph(), x, stated);
  call.result(ops::reshape(call.graph(), x, shape));
}

void flatten(const Call& call) {
  const Shape from = call.shape(0);
  const int64_t axis = call.integer("axis", 1);
  call.result(ops::flatten(call.graph(), call.tensor(0), axis < 0 ? axis + from.rank() : axis));
}

void squeeze(const Call& call) {
  call.result(ops::squeeze(call.graph(), call.tensor(0), call.attribute_or_input("axes", 1)));
}

void unsqueeze(const Call& call) {
  call.result(ops::unsqueeze(call.graph(), call.tensor(0), call.attribute_or_input("axes", 1)));
}

void transpose(const Call& call) {
  call.result(ops::transpose(call.graph(), call.tensor(0), call.integers("perm", {})));
}

void expand(const Call& call) {
  const std::vector<int64_t> wanted = call.integers(1, "a shape");
  require_rank(call, wanted.size());
  if (std::any_of(wanted.begin(), wanted.end(), [](int64_t extent) { return extent < 1; })) {
    call.fail("expected extents of 1 or more, found [{}]", fmt::join(wanted, ", "));
  }
  const ValueId x = call.tensor(0);
  BatchPlan* plan = call.other_batch(1);
  if (plan == nullptr) return call.result(ops::expand(call.graph(), x, Shape(wanted)));
  const Shape shape = plan->expanded(call.node(), call.builder().graph(), x, Shape(wanted));
  const ValueId result = ops::expand(call.graph(), x, shape);
  plan->note_copies(call.node(), result);
  call.result(result);
}

/// What a file for a batch of one joins with its only sample, each sample of another batch gets.
void repeat_for_samples(const Call& call, BatchPlan& plan, std::vector<ValueId>& parts) {
  const int axis = plan.joined(call.node(), call.builder().graph(), parts);
  for (ValueId& part : parts) {
    Shape shape = call.builder().shape(part);
    if (axis < 0 || axis >= shape.rank() || shape[axis] != 1) continue;
    shape[axis] = plan.current_batch();
    part = ops::expand(call.graph(), part, shape);
    plan.note_copies(call.node(), part);
  }
}

void concat(const Call& call) {
  auto op = std::make_shared<ops::Concat>();
  op->axis = call.axis(call.integer("axis", 0), call.shape(0).rank());
  std::vector<ValueId> parts;
  for (size_t i = 0; i < call.inputs(); ++i) parts.push_back(call.computed(i));
  if (BatchPlan* plan = call.other_batch()) repeat_for_samples(call, *plan, parts);
  call.result(parts.size() == 1 ? parts[0] : call.graph().add(std::move(op), parts)[0]);
}

void slice(const Call& call) {
  const std::vector<int64_t> starts = call.attribute_or_input("starts", 1);
  const std::vector<int64_t> ends = call.attribute_or_input("ends", 2);
  std::vector<int64_t> axes = call.attribute_or_input("axes", 3);
  const std::vector<int64_t> steps =
      call.has(4) ? call.integers(4, "steps") : std::vector<int64_t>(starts.size(), 1);
  if (axes.empty()) {
    for (size_t i = 0; i < starts.size(); ++i) axes.push_back(static_cast<int64_t>(i));
  }
  if (ends.size() != starts.size() || axes.size() != starts.size() ||
      steps.size() != starts.size()) {
    call.fail("expected as many ends, axes and steps as starts, found {}, {}, {} and {}",
              ends.size(), axes.size(), steps.size(), starts.size());
  }
  std::vector<ops::SliceRange> ranges;
  for (size_t i = 0; i < starts.size(); ++i) {
    ranges.push_back({axes[i], starts[i], ends[i], steps[i]});
  }
  call.result(ops::slice(call.graph(), call.tensor(0), ranges));
}

void split(const Call& call) {
  const Shape from = call.shape(0);
  const int axis = call.axis(call.integer("axis", 0), from.rank());
  const std::vector<ValueId> parts =
      ops::split(call.graph(), call.tensor(0), axis, call.split_extents(from[axis]));
  for (size_t i = 0; i < parts.size(); ++i) call.result(parts[i], i);
}

void gather(const Call& call) {
  const int64_t axis = call.integer("axis", 0);
  if (call.known(1) == nullptr) {
    // Whole numbers that a sample consists of, such as those of words.
    ValueId indices = call.tensor(1);
    if (call.builder().type(indices).dtype != DType::s32) {
      indices = call.add(std::make_shared<ops::ToIndices>(), {indices});
    }
    const ValueId table = call.is_weight(0) ? call.computed(0) : call.tensor(0);
    return call.result(ops::gather(call.graph(), table, axis, indices));
  }
  const std::vector<int64_t> indices = call.integers(1, "indices");
  call.result(ops::gather(call.graph(), call.tensor(0), axis, indices, call.shape(1)));
}

ops::PadMode pad_mode(const Call& call) {
  const std::string mode = call.text("mode", "constant");
  if (mode == "constant") return ops::PadMode::constant;
  if (mode == "edge") return ops::PadMode::edge;
  if (mode == "reflect") return ops::PadMode::reflect;
  if (mode == "wrap") return ops::PadMode::wrap;
  call.fail("expected mode constant, edge, reflect or wrap, found {}", mode);
}

/// Since operator set 11 amounts and value are inputs, since 18 for some axes alone.
void pad(const Call& call) {
  const int rank = call.shape(0).rank();
  const std::vector<int64_t> pads = call.attribute_or_input("pads", 1);
  std::vector<int64_t> axes = call.has(3) ? call.integers(3, "axes") : std::vector<int64_t>{};
  if (!call.has(3)) {
    for (int axis = 0; axis < rank; ++axis) axes.push_back(axis);
  }
  if (pads.size() != 2 * axes.size()) {
    call.fail("expected two amounts for each of {} axes, found {}", axes.size(), pads.size());
  }
  const float value =
      call.has(2) ? static_cast<float>(call.one_number(2, "a value")) : call.number("value", 0);
  std::vector<int64_t> before(static_cast<size_t>(rank), 0);
  std::vector<int64_t> after(static_cast<size_t>(rank), 0);
  for (size_t i = 0; i < axes.size(); ++i) {
    const auto axis = static_cast<size_t>(call.axis(axes[i], rank));
    before[axis] = pads[i];
    after[axis] = pads[i + axes.size()];
  }
  call.result(ops::pad(call.graph(), call.tensor(0), before, after, pad_mode(call), value));
}

}  // namespace

const Rules& shape_rules() {
  static const Rules rules = {
      {"Reshape", reshape},
      {"Flatten", flatten},
      {"Squeeze", squeeze},
      {"Unsqueeze", unsqueeze},
      {"Transpose", transpose},
      {"Expand", expand},
      {"Concat", concat},
      {"Slice", slice},
      {"Split", split},
      {"Gather", gather},
      {"Pad", pad},
  };
  return rules;
}

}  // namespace syrtos::onnx
