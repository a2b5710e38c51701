#include "syrtos/onnx/batch_plan.h"

#include <algorithm>

#include "syrtos/base/error.h"

namespace syrtos::onnx {

namespace {

// First guesses are nearly always right; a file that needs more than this is not worth the wait.
constexpr int kMostAttempts = 256;

}  // namespace

void BatchPlan::begin(const graph::Graph& graph, ValueId images) {
  stated_.clear();
  next_choice_ = 0;
  places_.emplace(graph, trial_batch());
  places_->follow();  // what comes before the images is the same for all
  places_->set(images, {});
}

bool BatchPlan::choose_anew() {
  choices_.resize(next_choice_);
  while (!choices_.empty() && choices_.back().taken + 1 == choices_.back().of) choices_.pop_back();
  if (choices_.empty() || ++attempts_ == kMostAttempts) return false;
  ++choices_.back().taken;
  return true;
}

size_t BatchPlan::choose(size_t count) {
  if (next_choice_ == choices_.size()) choices_.push_back({.of = count});
  return choices_[next_choice_++].taken;
}

bool BatchPlan::is_by_sample(ValueId value) const { return places_->of(value) == BatchPlace{}; }

void BatchPlan::follow() {
  if (places_) places_->follow();
}

Shape BatchPlan::shape_of(const Node& node) const {
  const Stated& stated = stated_.at(&node);
  Shape shape = stated.shape;
  if (stated.axis >= 0) {
    shape[stated.axis] = shape[stated.axis] / file_batch_ * current_batch();
  }
  return shape;
}

Shape BatchPlan::reshaped(const Node& node, const graph::Graph& graph, ValueId x,
                          const std::function<Shape(const Shape& x)>& stated) {
  if (!places_) return shape_of(node);
  places_->follow();
  Shape from = graph.type(x).shape;
  const std::optional<BatchPlace> place = places_->of(x);
  if (!place) {
    stated_[&node] = {stated(from)};
    return shape_of(node);
  }
  const int64_t stride = sample_stride(from, *place);
  from[place->axis] = in_file(from[place->axis]);
  const Shape to = stated(from);
  std::vector<BatchPlace> found = places_within(to, stride, file_batch_);
  if (found.empty()) {
    fail_mixed("the new shape", fmt::format("{} becomes {}", to_string(from), to_string(to)));
  }
  // Of a batch of one: an extent of one is most likely it; the last axis, of features, never is.
  const auto unlikely = [&](const BatchPlace& at) {
    if (to[at.axis] == file_batch_) return at.axis == place->axis ? 0 : 1;
    if (at.axis == to.rank() - 1) return 4;
    return to.rank() == from.rank() && at.axis == place->axis ? 2 : 3;
  };
  std::stable_sort(found.begin(), found.end(), [&](const BatchPlace& a, const BatchPlace& b) {
    return unlikely(a) < unlikely(b);
  });
  stated_[&node] = {to, found[choose(found.size())].axis};
  return shape_of(node);
}

Shape BatchPlan::expanded(const Node& node, const graph::Graph& graph, ValueId x, Shape stated) {
  if (!places_) return shape_of(node);
  places_->follow();
  const Shape from = graph.type(x).shape;
  if (const std::optional<BatchPlace> place = places_->of(x)) {
    // An extent of 1 leaves x what it is.
    const int axis = place->axis + stated.rank() - from.rank();
    if (axis >= 0 && stated[axis] == in_file(from[place->axis])) stated[axis] = 1;
    stated_[&node] = {stated};
    return shape_of(node);
  }
  std::vector<int> axes;
  for (int axis = 0; axis < stated.rank(); ++axis) {
    const int own = axis - stated.rank() + from.rank();
    if (stated[axis] == file_batch_ && (own < 0 || from[own] == 1)) axes.push_back(axis);
  }
  axes.push_back(-1);
  stated_[&node] = {stated, axes[choose(axes.size())]};
  return shape_of(node);
}

void BatchPlan::note_copies(const Node& node, ValueId result) {
  if (!places_) return;
  places_->follow();
  const int axis = stated_.at(&node).axis;
  if (axis >= 0) places_->set(result, {.axis = axis});
}

int BatchPlan::axis_of(const Node& node, ValueId x) {
  if (places_) {
    places_->follow();
    const std::optional<BatchPlace> place = places_->of(x);
    stated_[&node].axis = place ? place->axis : -1;
  }
  return stated_.at(&node).axis;
}

int BatchPlan::joined(const Node& node, const graph::Graph& graph,
                      const std::vector<ValueId>& parts) {
  if (!places_) return stated_.at(&node).axis;
  places_->follow();
  Stated& stated = stated_[&node];
  if (file_batch_ != 1) return stated.axis;
  for (const ValueId part : parts) {
    const std::optional<BatchPlace> place = places_->of(part);
    if (place && graph.type(part).shape[place->axis] == trial_batch()) stated.axis = place->axis;
  }
  return stated.axis;
}

}  // namespace syrtos::onnx
