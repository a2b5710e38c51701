// Reductions over any axes, and their opposite. The small operand keeps the order in which the
// axes lie in the large one, so both are loops over neighbours.

#include <algorithm>
#include <optional>

#include "syrtos/ops/cpu/native_kernel.h"
#include "syrtos/ops/native/pointwise.h"
#include "syrtos/ops/native/reduce_axes.h"
#include "syrtos/ops/reduce.h"

namespace syrtos::ops::cpu {

namespace {

using native::dense_strides;
using native::Strides;

bool contains(const std::vector<int>& axes, int axis) {
  return std::find(axes.begin(), axes.end(), axis) != axes.end();
}

/// The axes of a shape as they lie in memory.
std::vector<int> memory_order(const Shape& shape, bool channels_last) {
  channels_last = channels_last && shape.rank() >= 3;
  std::vector<int> order;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (!channels_last || axis != 1) order.push_back(axis);
  }
  if (channels_last) order.push_back(1);
  return order;
}

/// The axes of more than one element.
std::vector<int> without_ones(const std::vector<int>& axes, const Shape& shape) {
  std::vector<int> rest;
  for (const int axis : axes) {
    if (shape[axis] != 1) rest.push_back(axis);
  }
  return rest;
}

/// The layout of the small operand in which the axes lie as they do in the large one; none where
/// that is neither plain nor channels-last.
std::optional<Layout> layout_without(const Shape& small, const Shape& large, bool channels_last,
                                     const std::vector<int>& axes) {
  std::vector<int> kept;
  for (const int axis : memory_order(large, channels_last)) {
    if (contains(axes, axis)) continue;
    const auto gone = std::count_if(axes.begin(), axes.end(), [&](int a) { return a < axis; });
    kept.push_back(axis - static_cast<int>(gone));
  }
  kept = kept.empty() ? kept : without_ones(kept, small);
  for (const Layout& layout : {Layout::plain(), Layout::channels_last()}) {
    const bool last = is_channels_last(layout);
    if (last && small.rank() < 3) continue;
    if (kept.empty() || without_ones(memory_order(small, last), small) == kept) return layout;
  }
  return std::nullopt;
}

KernelPlan make_reduce(const std::shared_ptr<Engine>& /*engine*/, const KernelRequest& request) {
  const auto& op = dynamic_cast<const Reduce&>(request.op);
  const Shape src = request.inputs[0].shape;
  const Shape dst = request.outputs[0].shape;
  Layout from = followed(request, 0);
  std::optional<Layout> to = layout_without(dst, src, is_channels_last(from), op.axes);
  if (!to) {
    from = Layout::plain();
    to = Layout::plain();
  }
  std::vector<native::ReduceAxis> axes;
  for (const int axis : memory_order(src, is_channels_last(from))) {
    axes.push_back({src[axis], !contains(op.axes, axis)});
  }
  native::ReduceAxes problem;
  problem.loop = native::reduce_loop(axes);
  problem.src_dtype = request.inputs[0].dtype;
  problem.dst_dtype = request.outputs[0].dtype;
  problem.max = op.kind == ReduceKind::max;
  if (op.kind == ReduceKind::mean) {
    problem.scale = static_cast<float>(static_cast<double>(dst.elements()) /
                                       static_cast<double>(src.elements()));
  }
  KernelPlan plan = native_plan(request, [=](const Operands& x, const Step& /*step*/) {
    native::reduce_axes(problem, x.in(0), x.out(0), x.scratch);
  });
  plan.input_layouts = {from};
  plan.output_layouts = {*to};
  plan.scratch_bytes = native::reduce_axes_scratch_bytes(problem);
  return plan;
}

/// Strides of the small operand along the axes of the large one.
Strides strides_without(const Shape& small, bool channels_last, const Shape& large,
                        const std::vector<int>& axes) {
  const bool scalar = static_cast<int>(axes.size()) == large.rank();
  const Strides dense = dense_strides(small, channels_last);
  Strides strides{};
  size_t next = 0;
  for (int axis = 0; axis < large.rank(); ++axis) {
    if (!contains(axes, axis) && !scalar) strides[static_cast<size_t>(axis)] = dense[next++];
  }
  return strides;
}

KernelPlan make_broadcast(const std::shared_ptr<Engine>& /*engine*/, const KernelRequest& request) {
  const auto& op = dynamic_cast<const Broadcast&>(request.op);
  const Shape src = request.inputs[0].shape;
  const TensorType dst = request.outputs[0];
  // Nobody says yet how the result is wanted. Images lie channels-last; rows of rows, and what
  // becomes equal for all channels, mostly plain.
  const bool plain = dst.shape.rank() < 4 || contains(op.axes, 1) ||
                     (src.rank() >= 3 && request.input_layouts[0].kind == Layout::Kind::plain);
  Layout to = plain ? Layout::plain() : Layout::channels_last();
  std::optional<Layout> from = layout_without(src, dst.shape, is_channels_last(to), op.axes);
  if (!from) {
    from = Layout::plain();
    to = Layout::plain();
  }
  const Strides strides = strides_without(src, is_channels_last(*from), dst.shape, op.axes);
  const native::PointwiseLoop loop = native::pointwise_loop(
      dst.shape, dense_strides(dst.shape, is_channels_last(to)), std::span(&strides, 1));
  const float factor = op.factor;
  KernelPlan plan = native_plan(request, [=](const Operands& x, const Step& /*step*/) {
    native::pointwise(native::PointwiseFunction::affine, dst.dtype, loop, x.inputs.data(), factor,
                      0, x.out(0));
  });
  plan.input_layouts = {*from};
  plan.output_layouts = {to};
  return plan;
}

}  // namespace

Maker find_reduction_maker(std::string_view operation) {
  if (operation == "reduce_sum" || operation == "reduce_mean" || operation == "reduce_max") {
    return make_reduce;
  }
  if (operation == "broadcast") return make_broadcast;
  return nullptr;
}

}  // namespace syrtos::ops::cpu
