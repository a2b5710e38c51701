#include "syrtos/ops/activation.h"
#include "syrtos/ops/arithmetic.h"
#include "syrtos/ops/bias.h"
#include "syrtos/ops/cast.h"
#include "syrtos/ops/cpu/native_kernel.h"
#include "syrtos/ops/native/elementwise.h"
#include "syrtos/ops/native/reduction.h"

namespace syrtos::ops::cpu {

namespace {

// Elements of the first output in the layout that the plan gives it.
int64_t count_of(const KernelRequest& request) {
  const KernelPlan plan = elementwise_plan(request, [](const Operands&, const Step&) {});
  return elements_in(request.outputs[0], plan.output_layouts[0]);
}

using Unary = void (*)(DType, int64_t, const void*, void*);
using BinaryFunction = void (*)(DType, int64_t, const void*, const void*, void*);

template <Unary function>
KernelPlan make_unary(const std::shared_ptr<Engine>& /*engine*/, const KernelRequest& request) {
  const DType dtype = request.outputs[0].dtype;
  const int64_t n = count_of(request);
  KernelPlan plan = elementwise_plan(request, [=](const Operands& x, const Step& /*step*/) {
    function(dtype, n, x.in(0), x.out(0));
  });
  plan.in_place = {{0, 0}};
  return plan;
}

template <BinaryFunction function>
KernelPlan make_binary(const std::shared_ptr<Engine>& /*engine*/, const KernelRequest& request) {
  const DType dtype = request.outputs[0].dtype;
  const int64_t n = count_of(request);
  KernelPlan plan = elementwise_plan(request, [=](const Operands& x, const Step& /*step*/) {
    function(dtype, n, x.in(0), x.in(1), x.out(0));
  });
  plan.in_place = {{0, 1}, {0, 0}};
  return plan;
}

KernelPlan make_add(const std::shared_ptr<Engine>& engine, const KernelRequest& request) {
  const bool relu = dynamic_cast<const Add&>(request.op).relu;
  if (request.inputs.size() == 2) {
    return relu ? make_binary<native::add_relu>(engine, request)
                : make_binary<native::add>(engine, request);
  }
  const DType dtype = request.outputs[0].dtype;
  const int64_t n = count_of(request);
  KernelPlan plan = elementwise_plan(request, [=](const Operands& x, const Step& /*step*/) {
    native::add_n(dtype, n, static_cast<int>(x.inputs.size()), x.inputs.data(), x.out(0));
    if (relu) native::relu(dtype, n, x.out(0), x.out(0));
  });
  for (size_t i = 0; i < request.inputs.size(); ++i) {
    plan.in_place.emplace_back(0, static_cast<int>(i));
  }
  return plan;
}

KernelPlan make_scale(const std::shared_ptr<Engine>& /*engine*/, const KernelRequest& request) {
  const float factor = dynamic_cast<const Scale&>(request.op).factor;
  const DType dtype = request.outputs[0].dtype;
  const int64_t n = count_of(request);
  KernelPlan plan = elementwise_plan(request, [=](const Operands& x, const Step& /*step*/) {
    native::scale(dtype, n, x.in(0), factor, x.out(0));
  });
  plan.in_place = {{0, 0}};
  return plan;
}

KernelPlan make_scale_by(const std::shared_ptr<Engine>& /*engine*/, const KernelRequest& request) {
  const DType dtype = request.outputs[0].dtype;
  const int64_t n = count_of(request);
  KernelPlan plan = elementwise_plan(request, [=](const Operands& x, const Step& /*step*/) {
    native::scale(dtype, n, x.in(0), *x.in<float>(1), x.out(0));
  });
  plan.input_layouts[1] = Layout::plain();
  plan.in_place = {{0, 0}};
  return plan;
}

KernelPlan make_cast(const std::shared_ptr<Engine>& /*engine*/, const KernelRequest& request) {
  const DType from = request.inputs[0].dtype;
  const DType to = request.outputs[0].dtype;
  const int64_t n = count_of(request);
  return elementwise_plan(request, [=](const Operands& x, const Step& /*step*/) {
    native::convert(from, to, n, x.in(0), x.out(0));
  });
}

KernelPlan make_bias_add(const std::shared_ptr<Engine>& /*engine*/, const KernelRequest& request) {
  const TensorType type = request.inputs[0];
  KernelPlan plan = native_plan(request, [=](const Operands& x, const Step& /*step*/) {
    native::bias_add(type.dtype, rows_of(type.shape), type.shape[1], x.in(0), x.in<float>(1), false,
                     x.out(0));
  });
  plan.in_place = {{0, 0}};
  return plan;
}

KernelPlan make_bias_backward(const std::shared_ptr<Engine>& /*engine*/,
                              const KernelRequest& request) {
  const TensorType type = request.inputs[0];
  KernelPlan plan = native_plan(request, [=](const Operands& x, const Step& /*step*/) {
    native::bias_gradient(type.dtype, rows_of(type.shape), type.shape[1], x.in(0), x.out<float>(0),
                          x.scratch);
  });
  plan.scratch_bytes = static_cast<size_t>(native::bias_gradient_scratch_bytes(type.shape[1]));
  return plan;
}

}  // namespace

Maker find_elementwise_maker(std::string_view operation) {
  if (operation == "relu") return make_unary<native::relu>;
  if (operation == "sigmoid") return make_unary<native::sigmoid>;
  if (operation == "tanh") return make_unary<native::tanh>;
  if (operation == "gelu") return make_unary<native::gelu>;
  if (operation == "relu.backward") return make_binary<native::relu_backward>;
  if (operation == "sigmoid.backward") return make_binary<native::sigmoid_backward>;
  if (operation == "tanh.backward") return make_binary<native::tanh_backward>;
  if (operation == "gelu.backward") return make_binary<native::gelu_backward>;
  if (operation == "add") return make_add;
  if (operation == "multiply") return make_binary<native::multiply>;
  if (operation == "scale") return make_scale;
  if (operation == "scale_by") return make_scale_by;
  if (operation == "cast") return make_cast;
  if (operation == "bias_add") return make_bias_add;
  if (operation == "bias_add.backward") return make_bias_backward;
  return nullptr;
}

}  // namespace syrtos::ops::cpu
