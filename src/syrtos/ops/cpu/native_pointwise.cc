// Functions of one, two or three numbers, element by element.

#include <algorithm>

#include "syrtos/ops/binary.h"
#include "syrtos/ops/cpu/native_kernel.h"
#include "syrtos/ops/native/pointwise.h"
#include "syrtos/ops/pointwise.h"

namespace syrtos::ops::cpu {

namespace {

using native::PointwiseFunction;
using native::PointwiseLoop;
using native::Strides;

constexpr int kPointwiseKinds = static_cast<int>(PointwiseKind::silu) + 1;
constexpr int kBinaryKinds = static_cast<int>(BinaryKind::equal) + 1;

PointwiseLoop loop_over(int64_t elements, size_t operands) {
  PointwiseLoop loop;
  loop.inner = elements;
  loop.operands = operands;
  loop.steps.fill(1);
  return loop;
}

/// The one that stands so many places behind another.
PointwiseFunction function_from(PointwiseFunction first, int places) {
  return static_cast<PointwiseFunction>(static_cast<int>(first) + places);
}

template <typename Operation, PointwiseFunction first>
KernelPlan make_pointwise(const std::shared_ptr<Engine>& /*engine*/, const KernelRequest& request) {
  const auto& op = dynamic_cast<const Operation&>(request.op);
  const auto function = function_from(first, static_cast<int>(op.kind));
  const DType dtype = request.outputs[0].dtype;
  const float alpha = op.alpha;
  const float beta = op.beta;
  KernelPlan plan = elementwise_plan(request, [](const Operands&, const Step&) {});
  const int64_t n = elements_in(request.outputs[0], plan.output_layouts[0]);
  const PointwiseLoop loop = loop_over(n, request.inputs.size());
  KernelPlan result = elementwise_plan(request, [=](const Operands& x, const Step& /*step*/) {
    native::pointwise(function, dtype, loop, x.inputs.data(), alpha, beta, x.out(0));
  });
  for (int i = static_cast<int>(request.inputs.size()) - 1; i >= 0; --i) {
    result.in_place.emplace_back(0, i);
  }
  return result;
}

/// Of an operand along the axes of the result; 0 where it is repeated.
Strides strides_along(const Shape& shape, bool channels_last, const Shape& result) {
  const Strides own = native::dense_strides(shape, channels_last);
  Strides strides{};
  for (int axis = 0; axis < result.rank(); ++axis) {
    const int mine = axis - result.rank() + shape.rank();
    if (mine >= 0 && shape[mine] != 1) {
      strides[static_cast<size_t>(axis)] = own[static_cast<size_t>(mine)];
    }
  }
  return strides;
}

/// Whether the operand's neighbours are the result's when that lies channels-last: operands of
/// lower rank lie as they are.
bool fits_channels_last(const Shape& shape, const Shape& result) {
  const int64_t step = strides_along(shape, shape.rank() == result.rank(), result)[1];
  return step == 0 || step == 1;
}

KernelPlan broadcast_plan(const KernelRequest& request, PointwiseFunction function) {
  const Shape result = request.outputs[0].shape;
  bool channels_last = result.rank() >= 3;
  for (size_t i = 0; i < request.inputs.size(); ++i) {
    const bool wants_plain =
        request.inputs[i].shape == result && request.input_layouts[i].kind == Layout::Kind::plain;
    channels_last =
        channels_last && !wants_plain && fits_channels_last(request.inputs[i].shape, result);
  }
  std::vector<Strides> strides;
  std::vector<Layout> layouts;
  for (const TensorType& input : request.inputs) {
    const bool same_rank = input.shape.rank() == result.rank();
    strides.push_back(strides_along(input.shape, channels_last && same_rank, result));
    layouts.push_back(channels_last && same_rank ? Layout::channels_last() : Layout::plain());
  }
  const DType dtype = request.outputs[0].dtype;
  const PointwiseLoop loop =
      native::pointwise_loop(result, native::dense_strides(result, channels_last), strides);
  KernelPlan plan = native_plan(request, [=](const Operands& x, const Step& /*step*/) {
    native::pointwise(function, dtype, loop, x.inputs.data(), 0, 0, x.out(0));
  });
  plan.input_layouts = layouts;
  plan.output_layouts = {channels_last ? Layout::channels_last() : Layout::plain()};
  for (int i = static_cast<int>(request.inputs.size()) - 1; i >= 0; --i) {
    if (request.inputs[static_cast<size_t>(i)].shape == result) plan.in_place.emplace_back(0, i);
  }
  return plan;
}

KernelPlan make_binary(const std::shared_ptr<Engine>& /*engine*/, const KernelRequest& request) {
  const BinaryKind kind = dynamic_cast<const Binary&>(request.op).kind;
  return broadcast_plan(request, function_from(PointwiseFunction::sum, static_cast<int>(kind)));
}

KernelPlan make_binary_backward(const std::shared_ptr<Engine>& /*engine*/,
                                const KernelRequest& request) {
  const auto& op = dynamic_cast<const BinaryBackward&>(request.op);
  const int kind = static_cast<int>(op.kind) - static_cast<int>(BinaryKind::divide);
  return broadcast_plan(request, function_from(PointwiseFunction::quotient_backward_a,
                                               2 * kind + (op.second ? 1 : 0)));
}

}  // namespace

Maker find_pointwise_maker(std::string_view operation) {
  for (int i = 0; i < kPointwiseKinds; ++i) {
    const auto kind = static_cast<PointwiseKind>(i);
    if (operation == Pointwise(kind).name())
      return make_pointwise<Pointwise, PointwiseFunction::negative>;
    if (operation == PointwiseBackward(kind, 0, 0).name()) {
      return make_pointwise<PointwiseBackward, PointwiseFunction::negative_backward>;
    }
  }
  for (int i = 0; i < kBinaryKinds; ++i) {
    const auto kind = static_cast<BinaryKind>(i);
    if (operation == Binary(kind).name()) return make_binary;
    if (operation == BinaryBackward(kind, false).name() ||
        operation == BinaryBackward(kind, true).name()) {
      return make_binary_backward;
    }
  }
  return nullptr;
}

}  // namespace syrtos::ops::cpu
