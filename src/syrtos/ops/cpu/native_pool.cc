#include "syrtos/ops/cpu/native_kernel.h"
#include "syrtos/ops/dropout.h"
#include "syrtos/ops/native/dropout.h"
#include "syrtos/ops/native/pooling.h"
#include "syrtos/ops/pool.h"

namespace syrtos::ops::cpu {

namespace {

// One-dimensional signals are images of height 1.
template <typename PoolOp>
native::PoolShape pool_shape(const PoolOp& op, const TensorType& src, const Shape& dst) {
  native::PoolShape shape;
  shape.batch = src.shape[0];
  shape.channels = src.shape[1];
  shape.dtype = src.dtype;
  shape.count_padding = op.count_padding;
  const int axes = op.window.axes;
  for (int i = 0; i < axes; ++i) {
    native::PoolAxis& axis = i == axes - 1 ? shape.width : shape.height;
    const auto w = static_cast<size_t>(i);
    axis.input = src.shape[2 + i];
    axis.output = dst[2 + i];
    axis.kernel = op.window.kernel[w];
    axis.stride = op.window.stride[w];
    axis.dilation = op.window.dilation[w];
    axis.padding = op.window.pad_begin[w];
    axis.padding_end = op.window.pad_end[w];
    axis.adaptive = op.adaptive;
  }
  return shape;
}

KernelPlan make_pool(const std::shared_ptr<Engine>& /*engine*/, const KernelRequest& request) {
  const auto& op = dynamic_cast<const Pool&>(request.op);
  const native::PoolShape shape = pool_shape(op, request.inputs[0], request.outputs[0].shape);
  if (op.kind == PoolKind::max) {
    return native_plan(request, [=](const Operands& x, const Step& /*step*/) {
      native::max_pool(shape, x.in(0), x.out(0), x.out<int32_t>(1));
    });
  }
  return native_plan(request, [=](const Operands& x, const Step& /*step*/) {
    native::average_pool(shape, x.in(0), x.out(0));
  });
}

KernelPlan make_pool_backward(const std::shared_ptr<Engine>& /*engine*/,
                              const KernelRequest& request) {
  const auto& op = dynamic_cast<const PoolBackward&>(request.op);
  const native::PoolShape shape = pool_shape(op, request.outputs[0], request.inputs[0].shape);
  if (op.kind == PoolKind::max) {
    return native_plan(request, [=](const Operands& x, const Step& /*step*/) {
      native::max_pool_backward(shape, x.in(0), x.in<int32_t>(1), x.out(0));
    });
  }
  return native_plan(request, [=](const Operands& x, const Step& /*step*/) {
    native::average_pool_backward(shape, x.in(0), x.out(0));
  });
}

// Forward and backward are the same function: the mask is made anew.
template <typename DropoutOp>
KernelPlan make_dropout(const std::shared_ptr<Engine>& /*engine*/, const KernelRequest& request) {
  const auto& op = dynamic_cast<const DropoutOp&>(request.op);
  const float rate = op.rate;
  const uint32_t layer = op.layer;
  const TensorType type = request.inputs[0];
  KernelPlan plan = native_plan(request, [=](const Operands& x, const Step& step) {
    native::dropout({step.seed, layer, step.step}, rate, type.dtype, type.shape[0],
                    type.shape.elements_from(1), step.first_sample, x.in(0), x.out(0));
  });
  plan.in_place = {{0, 0}};
  return plan;
}

}  // namespace

Maker find_pool_maker(std::string_view operation) {
  if (operation == "max_pool" || operation == "average_pool") return make_pool;
  if (operation == "max_pool.backward" || operation == "average_pool.backward") {
    return make_pool_backward;
  }
  if (operation == "dropout") return make_dropout<Dropout>;
  if (operation == "dropout.backward") return make_dropout<DropoutBackward>;
  return nullptr;
}

}  // namespace syrtos::ops::cpu
