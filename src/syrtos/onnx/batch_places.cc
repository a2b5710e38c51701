#include "syrtos/onnx/batch_places.h"

#include <algorithm>
#include <set>
#include <string_view>

#include "syrtos/base/error.h"
#include "syrtos/ops/axis_map.h"
#include "syrtos/ops/binary.h"
#include "syrtos/ops/concat.h"
#include "syrtos/ops/gather.h"
#include "syrtos/ops/layer_norm.h"
#include "syrtos/ops/matmul.h"
#include "syrtos/ops/pointwise.h"
#include "syrtos/ops/recurrence.h"
#include "syrtos/ops/reduce.h"
#include "syrtos/ops/slice.h"
#include "syrtos/ops/transpose.h"

namespace syrtos::onnx {

namespace {

using Place = std::optional<BatchPlace>;

/// One node with what is known of its inputs.
struct Passage {
  const graph::Graph& graph;
  const graph::Node& node;
  std::vector<Place> inputs;
  int64_t batch;

  const Shape& shape(size_t input) const { return graph.type(node.inputs[input]).shape; }
  const Shape& result() const { return graph.type(node.outputs[0]).shape; }

  [[noreturn]] void mixed() const {
    std::string found;
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (inputs[i]) {
        found += fmt::format("{}axis {} of {}", found.empty() ? "" : ", ", inputs[i]->axis,
                             to_string(shape(i)));
      }
    }
    fail_mixed(fmt::format("[{}]", node.op->name()), found);
  }
  void require(bool apart) const {
    if (!apart) mixed();
  }
};

/// The first input has the samples along one of the axes that are allowed, no other has any.
Place same_axis(const Passage& passage, const auto& allowed) {
  passage.require(passage.inputs[0].has_value());
  for (size_t i = 1; i < passage.inputs.size(); ++i) passage.require(!passage.inputs[i]);
  passage.require(allowed(passage.inputs[0]->axis));
  return passage.inputs[0];
}

/// Axes are matched from the last one on; what is the same for all samples has extent 1 there.
/// `skipped`: that many last axes are for the caller.
Place aligned(const Passage& passage, const std::vector<Place>& places, int skipped = 0) {
  const int rank = passage.result().rank();
  Place common;
  for (size_t i = 0; i < places.size(); ++i) {
    if (!places[i]) continue;
    const BatchPlace here{places[i]->axis + rank - passage.shape(i).rank(), places[i]->inner};
    passage.require(!common || *common == here);
    common = here;
  }
  for (size_t i = 0; common && common->axis < rank - skipped && i < places.size(); ++i) {
    if (places[i] || passage.node.inputs[i] == graph::kNone) continue;
    const int own = common->axis - rank + passage.shape(i).rank();
    passage.require(own < 0 || passage.shape(i)[own] == 1);
  }
  return common;
}

/// Rows of the first factor or columns of the second; never what is summed over.
Place after_product(const Passage& passage, const ops::MatMul& op) {
  std::vector<Place> places(passage.inputs.begin(), passage.inputs.begin() + 2);
  for (size_t i = 2; i < passage.inputs.size(); ++i) passage.require(!passage.inputs[i]);
  for (size_t i = 0; i < 2; ++i) {
    const int rank = passage.shape(i).rank();
    if (!places[i] || places[i]->axis < rank - 2) continue;
    const bool transposed = i == 0 ? op.transpose_a : op.transpose_b;
    const bool second_last = (places[i]->axis == rank - 2) != transposed;
    passage.require(second_last == (i == 0));
    places[i]->axis = i == 0 ? rank - 2 : rank - 1;
  }
  return aligned(passage, places, 2);
}

Place after_reshape(const Passage& passage) {
  const int64_t stride = sample_stride(passage.shape(0), *passage.inputs[0]);
  const std::vector<BatchPlace> found = places_within(passage.result(), stride, passage.batch);
  passage.require(!found.empty());
  return found[0];
}

Place after_reduction(const Passage& passage, const std::vector<int>& axes) {
  BatchPlace place = *passage.inputs[0];
  passage.require(std::find(axes.begin(), axes.end(), place.axis) == axes.end());
  place.axis -= static_cast<int>(
      std::count_if(axes.begin(), axes.end(), [&](int axis) { return axis < place.axis; }));
  return place;
}

/// Axes that are not repeated are those of the source, in their order.
Place after_repetition(const Passage& passage, const ops::Broadcast& op) {
  BatchPlace place = *passage.inputs[0];
  int own = 0;
  for (int axis = 0; axis < op.shape.rank(); ++axis) {
    if (std::find(op.axes.begin(), op.axes.end(), axis) != op.axes.end()) continue;
    if (own++ == place.axis) return BatchPlace{axis, place.inner};
  }
  passage.mixed();
}

Place after_concat(const Passage& passage, int joined) {
  const Place common = aligned(passage, passage.inputs);
  passage.require(common->axis != joined);
  return common;
}

Place after_transposition(const Passage& passage, const std::vector<int>& order) {
  BatchPlace place = *passage.inputs[0];
  place.axis = static_cast<int>(std::find(order.begin(), order.end(), place.axis) - order.begin());
  return place;
}

bool is_untouched(const ops::Slice& op, const Shape& from, int axis) {
  return op.begin[axis] == 0 && op.size[axis] == from[axis] && op.stride[axis] == 1;
}

bool is_untouched(const ops::Pad& op, int axis) {
  return op.before[axis] == 0 && op.after[axis] == 0 && op.between[axis] == 0;
}

/// Functions of single numbers, of one value or of several of one shape.
bool is_elementwise(const ops::Op& op) {
  static const std::set<std::string_view> names = {"relu",  "sigmoid",   "tanh",    "gelu",
                                                   "scale", "cast",      "dropout", "multiply",
                                                   "add",   "to_indices"};
  return names.contains(op.name()) || dynamic_cast<const ops::Pointwise*>(&op) != nullptr ||
         dynamic_cast<const ops::Binary*>(&op) != nullptr;
}

/// What moves whole samples or parts of them.
Place after_move(const Passage& passage) {
  const ops::Op& op = *passage.node.op;
  const auto keeps = [&](bool apart) {
    passage.require(apart);
    return passage.inputs[0];
  };
  const int axis = passage.inputs[0] ? passage.inputs[0]->axis : -1;
  if (op.name() == "reshape") return after_reshape(passage);
  if (const auto* concat = dynamic_cast<const ops::Concat*>(&op)) {
    return after_concat(passage, concat->axis);
  }
  if (const auto* transposition = dynamic_cast<const ops::Transpose*>(&op)) {
    return after_transposition(passage, transposition->order);
  }
  if (const auto* repetition = dynamic_cast<const ops::Broadcast*>(&op)) {
    return after_repetition(passage, *repetition);
  }
  if (const auto* slice = dynamic_cast<const ops::Slice*>(&op)) {
    return keeps(is_untouched(*slice, passage.shape(0), axis));
  }
  if (const auto* pad = dynamic_cast<const ops::Pad*>(&op)) return keeps(is_untouched(*pad, axis));
  if (const auto* map = dynamic_cast<const ops::AxisMap*>(&op)) return keeps(map->axis != axis);
  passage.mixed();
}

/// Indices of each sample choose among rows that are the same for all.
Place after_gathering(const Passage& passage, const ops::Gather& op) {
  passage.require(!passage.inputs[0]);
  BatchPlace place = *passage.inputs[1];
  place.axis += op.axis;
  return place;
}

Place after_node(const Passage& passage) {
  // [batch, channels, ...]: everything else is read together.
  static const std::set<std::string_view> of_images = {"conv", "conv.backward_data", "max_pool",
                                                       "average_pool", "group_norm"};
  // Each channel has a number of its own, or meets others; batch norm's statistics are meant to be
  // those of the whole batch.
  static const std::set<std::string_view> by_channel = {"batch_norm", "bias_add", "lrn"};
  const ops::Op& op = *passage.node.op;
  if (is_elementwise(op)) return aligned(passage, passage.inputs);
  if (of_images.contains(op.name())) {
    return same_axis(passage, [](int axis) { return axis == 0; });
  }
  if (by_channel.contains(op.name())) {
    return same_axis(passage, [](int axis) { return axis != 1; });
  }
  if (op.name() == "softmax" || op.name() == "log_softmax") {
    const int last = passage.shape(0).rank() - 1;
    return same_axis(passage, [&](int axis) { return axis != last; });
  }
  if (dynamic_cast<const ops::Recurrence*>(&op) != nullptr) {
    return same_axis(passage, [](int axis) { return axis == 1; });
  }
  if (const auto* gather = dynamic_cast<const ops::Gather*>(&op)) {
    return after_gathering(passage, *gather);
  }
  if (const auto* norm = dynamic_cast<const ops::LayerNorm*>(&op)) {
    return same_axis(passage, [&](int axis) { return axis < norm->axis; });
  }
  if (const auto* product = dynamic_cast<const ops::MatMul*>(&op)) {
    return after_product(passage, *product);
  }
  if (const auto* reduction = dynamic_cast<const ops::Reduce*>(&op)) {
    return after_reduction(passage, reduction->axes);
  }
  return after_move(passage);
}

}  // namespace

void fail_mixed(std::string_view what, std::string_view where) {
  fail_request(
      "{} would mix the samples of a batch ({}): it can only be built for the batch that it was "
      "exported for; export it with an open batch",
      what, where);
}

int64_t sample_stride(const Shape& shape, const BatchPlace& place) {
  return place.inner * shape.elements_from(place.axis + 1);
}

std::vector<BatchPlace> places_within(const Shape& shape, int64_t stride, int64_t batch) {
  std::vector<BatchPlace> places;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    const int64_t rest = shape.elements_from(axis + 1);
    if (stride % rest == 0 && shape[axis] % (stride / rest * batch) == 0) {
      places.push_back({axis, stride / rest});
    }
  }
  return places;
}

Place BatchPlaces::of(ValueId value) const {
  const auto found = places_.find(value);
  return found == places_.end() ? std::nullopt : Place(found->second);
}

void BatchPlaces::follow() {
  for (; followed_ < graph_.nodes().size(); ++followed_) {
    const graph::Node& node = graph_.nodes()[followed_];
    Passage passage{graph_, node, {}, batch_};
    bool any = false;
    for (const ValueId input : node.inputs) {
      passage.inputs.push_back(input == graph::kNone ? std::nullopt : of(input));
      any = any || passage.inputs.back();
    }
    if (!any) continue;
    // Further results are statistics, which are for the gradient alone.
    if (const Place place = after_node(passage)) set(node.outputs[0], *place);
  }
}

}  // namespace syrtos::onnx
