#include "syrtos/ops/batch_norm.h"
#include "syrtos/ops/native/batch_norm.h"
#include "syrtos/ops/onednn/native_kernel.h"

namespace syrtos::ops::onednn {

namespace {

native::BatchNormShape matrix_of(const TensorType& type) {
  return {rows_of(type.shape), type.shape[1], type.dtype};
}

KernelPlan make_batch_norm(const std::shared_ptr<Engine>& /*engine*/,
                           const KernelRequest& request) {
  const auto& op = dynamic_cast<const BatchNorm&>(request.op);
  const native::BatchNormShape shape = matrix_of(request.inputs[0]);
  const bool training = op.training;
  const bool add = op.add;
  const bool relu = op.relu;
  const float epsilon = op.epsilon;
  const float momentum = op.momentum;
  KernelPlan plan = native_plan(request, [=](const Operands& x, const Step& /*step*/) {
    const void* residual = add ? x.in(5) : nullptr;
    if (training) {
      // The running statistics are state: inputs that this kernel alone changes.
      native::batch_norm_forward_training(
          shape,
          {x.in(0), residual, x.in<float>(1), x.in<float>(2), epsilon, momentum, relu, x.out(0),
           x.out<float>(1), x.out<float>(2), static_cast<float*>(x.inputs[3]),
           static_cast<float*>(x.inputs[4])},
          x.scratch);
    } else {
      native::batch_norm_forward_inference(
          shape,
          {x.in(0), residual, x.in<float>(1), x.in<float>(2), x.in<float>(3), x.in<float>(4),
           epsilon, relu, x.out(0)},
          x.scratch);
    }
  });
  plan.scratch_bytes = static_cast<size_t>(native::batch_norm_scratch_bytes(shape.channels));
  if (add) plan.in_place.emplace_back(0, 5);
  plan.in_place.emplace_back(0, 0);
  return plan;
}

KernelPlan make_batch_norm_backward(const std::shared_ptr<Engine>& /*engine*/,
                                    const KernelRequest& request) {
  const auto& op = dynamic_cast<const BatchNormBackward&>(request.op);
  const native::BatchNormShape shape = matrix_of(request.inputs[0]);
  const bool relu = op.relu;
  const bool add = op.add;
  KernelPlan plan = native_plan(request, [=](const Operands& x, const Step& /*step*/) {
    native::batch_norm_backward(
        shape,
        {x.in(0), relu ? x.in(5) : nullptr, x.in(4), x.in<float>(1), x.in<float>(2),
         x.in<float>(3), relu, x.out(0), x.out<float>(1), x.out<float>(2),
         add ? x.out(3) : nullptr},
        x.scratch);
  });
  plan.scratch_bytes = static_cast<size_t>(native::batch_norm_scratch_bytes(shape.channels));
  plan.in_place.emplace_back(add ? 3 : 0, 4);
  return plan;
}

}  // namespace

Maker find_norm_maker(std::string_view operation) {
  if (operation == "batch_norm") return make_batch_norm;
  if (operation == "batch_norm.backward") return make_batch_norm_backward;
  return nullptr;
}

}  // namespace syrtos::ops::onednn
