// Layer norm, of rows that lie plain, and group norm, of images that lie channels-last.

#include "syrtos/ops/cpu/native_kernel.h"
#include "syrtos/ops/group_norm.h"
#include "syrtos/ops/layer_norm.h"
#include "syrtos/ops/native/row_norm.h"

namespace syrtos::ops::cpu {

namespace {

native::NormForward forward_arguments(const Operands& x, float epsilon) {
  return {x.in(0),  x.in<float>(1),  x.in<float>(2), epsilon,
          x.out(0), x.out<float>(1), x.out<float>(2)};
}

native::NormBackward backward_arguments(const Operands& x) {
  return {x.in(0), x.in<float>(1), x.in<float>(2),  x.in<float>(3),
          x.in(4), x.out(0),       x.out<float>(1), x.out<float>(2)};
}

native::LayerNormShape rows_from(const TensorType& type, int axis) {
  const int64_t size = type.shape.elements_from(axis);
  return {type.shape.elements() / size, size, type.dtype};
}

native::GroupNormShape groups_in(const TensorType& type, int64_t groups) {
  return {type.shape[0], type.shape.elements_from(2), type.shape[1], groups, type.dtype};
}

KernelPlan make_layer_norm(const std::shared_ptr<Engine>& /*engine*/,
                           const KernelRequest& request) {
  const auto& op = dynamic_cast<const LayerNorm&>(request.op);
  const float epsilon = op.epsilon;
  const native::LayerNormShape shape = rows_from(request.inputs[0], op.axis);
  KernelPlan plan = plain_plan(request, [=](const Operands& x, const Step& /*step*/) {
    native::layer_norm_forward(shape, forward_arguments(x, epsilon));
  });
  plan.in_place = {{0, 0}};
  return plan;
}

KernelPlan make_layer_norm_backward(const std::shared_ptr<Engine>& /*engine*/,
                                    const KernelRequest& request) {
  const auto& op = dynamic_cast<const LayerNormBackward&>(request.op);
  const native::LayerNormShape shape = rows_from(request.inputs[0], op.axis);
  KernelPlan plan = plain_plan(request, [=](const Operands& x, const Step& /*step*/) {
    native::layer_norm_backward(shape, backward_arguments(x), x.scratch);
  });
  plan.scratch_bytes = native::layer_norm_backward_scratch_bytes(shape);
  plan.in_place = {{0, 4}};
  return plan;
}

KernelPlan make_group_norm(const std::shared_ptr<Engine>& /*engine*/,
                           const KernelRequest& request) {
  const auto& op = dynamic_cast<const GroupNorm&>(request.op);
  const float epsilon = op.epsilon;
  const native::GroupNormShape shape = groups_in(request.inputs[0], op.groups);
  KernelPlan plan = native_plan(request, [=](const Operands& x, const Step& /*step*/) {
    native::group_norm_forward(shape, forward_arguments(x, epsilon), x.scratch);
  });
  plan.scratch_bytes = native::group_norm_scratch_bytes(shape);
  plan.in_place = {{0, 0}};
  return plan;
}

KernelPlan make_group_norm_backward(const std::shared_ptr<Engine>& /*engine*/,
                                    const KernelRequest& request) {
  const auto& op = dynamic_cast<const GroupNormBackward&>(request.op);
  const native::GroupNormShape shape = groups_in(request.inputs[0], op.groups);
  KernelPlan plan = native_plan(request, [=](const Operands& x, const Step& /*step*/) {
    native::group_norm_backward(shape, backward_arguments(x), x.scratch);
  });
  plan.scratch_bytes = native::group_norm_scratch_bytes(shape);
  plan.in_place = {{0, 4}};
  return plan;
}

}  // namespace

Maker find_row_norm_maker(std::string_view operation) {
  if (operation == "layer_norm") return make_layer_norm;
  if (operation == "layer_norm.backward") return make_layer_norm_backward;
  if (operation == "group_norm") return make_group_norm;
  if (operation == "group_norm.backward") return make_group_norm_backward;
  return nullptr;
}

}  // namespace syrtos::ops::cpu
