#include "syrtos/graph/views.h"

#include <algorithm>

#include "syrtos/ops/reshape.h"
#include "syrtos/ops/transpose.h"

namespace syrtos::graph {

namespace {

using ops::Layout;

/// The axes of more than one element, as they lie in memory.
std::vector<int> memory_order(const Shape& shape, bool channels_last) {
  channels_last = channels_last && shape.rank() >= 3;
  std::vector<int> order;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (shape[axis] != 1 && (!channels_last || axis != 1)) order.push_back(axis);
  }
  if (channels_last && shape[1] != 1) order.push_back(1);
  return order;
}

std::optional<Layout> view_of_reshape(const TensorType& from, const Layout& layout,
                                      const TensorType& to) {
  if (same_bytes(layout, Layout::plain(), from)) return Layout::plain();
  // Channels-last: batch and channels stay, pixels are numbered in another way.
  const bool same_channels =
      to.shape.rank() >= 3 && to.shape[0] == from.shape[0] && to.shape[1] == from.shape[1];
  if (same_channels) return Layout::channels_last();
  return std::nullopt;
}

std::optional<Layout> view_of_transpose(const ops::Transpose& op, const TensorType& from,
                                        const Layout& layout, const TensorType& to) {
  const std::vector<int> source =
      memory_order(from.shape, layout.kind == Layout::Kind::channels_last);
  for (const Layout& candidate : {Layout::plain(), Layout::channels_last()}) {
    const bool channels_last = candidate.kind == Layout::Kind::channels_last;
    if (channels_last && to.shape.rank() < 3) continue;
    std::vector<int> axes = memory_order(to.shape, channels_last);
    for (int& axis : axes) axis = op.order[static_cast<size_t>(axis)];
    if (axes == source) return candidate;
  }
  return std::nullopt;
}

}  // namespace

std::optional<Layout> layout_of_view(const ops::Op& op, const TensorType& from,
                                     const Layout& layout, const TensorType& to) {
  if (layout.kind != Layout::Kind::plain && layout.kind != Layout::Kind::channels_last) {
    return std::nullopt;
  }
  if (dynamic_cast<const ops::Reshape*>(&op) != nullptr) return view_of_reshape(from, layout, to);
  if (const auto* transpose = dynamic_cast<const ops::Transpose*>(&op)) {
    return view_of_transpose(*transpose, from, layout, to);
  }
  return std::nullopt;
}

}  // namespace syrtos::graph
