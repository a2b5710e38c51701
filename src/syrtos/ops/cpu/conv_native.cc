#include "syrtos/ops/cpu/conv_native.h"

#include "syrtos/ops/cpu/blocked_layout.h"
#include "syrtos/ops/cpu/native_kernel.h"
#include "syrtos/ops/native/conv_wgrad.h"
#include "syrtos/ops/native/depthwise_wgrad.h"
#include "syrtos/ops/native/reduction.h"
#include "syrtos/ops/native/winograd.h"

namespace syrtos::ops::cpu {

namespace {

bool describe_weights_for_native(const Layout& layout, native::WgradLayout& result) {
  if (layout.kind != Layout::Kind::opaque) return false;
  const auto* form = dynamic_cast<const BlockedLayout*>(layout.opaque.get());
  return form != nullptr && form->to_wgrad(result);
}

bool describe_winograd(const Window& window, int64_t groups, const TensorType& src,
                       const Shape& dst, const Layout& weights, native::Winograd& problem) {
  for (size_t axis = 0; axis < 2; ++axis) {
    if (window.kernel[axis] != 3 || window.stride[axis] != 1 || window.dilation[axis] != 1) {
      return false;
    }
  }
  if (window.axes != 2 || groups != 1 || src.dtype != DType::f32) return false;
  if (!describe_weights_for_native(weights, problem.weights)) return false;
  problem.batch = static_cast<int>(src.shape[0]);
  problem.in_c = static_cast<int>(src.shape[1]);
  problem.in_h = static_cast<int>(src.shape[2]);
  problem.in_w = static_cast<int>(src.shape[3]);
  problem.out_c = static_cast<int>(dst[1]);
  problem.out_h = static_cast<int>(dst[2]);
  problem.out_w = static_cast<int>(dst[3]);
  problem.pad_top = static_cast<int>(window.pad_begin[0]);
  problem.pad_left = static_cast<int>(window.pad_begin[1]);
  return native::winograd_supported(problem);
}

// A one-dimensional image is one row of a two-dimensional one.
native::ConvWgrad describe_wgrad(const Window& window, const TensorType& src, const Shape& dst) {
  native::ConvWgrad problem;
  const int last = src.shape.rank() - 1;
  const auto w = static_cast<size_t>(window.axes - 1);
  problem.batch = static_cast<int>(src.shape[0]);
  problem.in_c = static_cast<int>(src.shape[1]);
  problem.out_c = static_cast<int>(dst[1]);
  problem.in_w = static_cast<int>(src.shape[last]);
  problem.out_w = static_cast<int>(dst[last]);
  problem.kernel_w = static_cast<int>(window.kernel[w]);
  problem.stride_w = static_cast<int>(window.stride[w]);
  problem.dilation_w = static_cast<int>(window.dilation[w]);
  problem.pad_left = static_cast<int>(window.pad_begin[w]);
  if (window.axes == 2) {
    problem.in_h = static_cast<int>(src.shape[2]);
    problem.out_h = static_cast<int>(dst[2]);
    problem.kernel_h = static_cast<int>(window.kernel[0]);
    problem.stride_h = static_cast<int>(window.stride[0]);
    problem.dilation_h = static_cast<int>(window.dilation[0]);
    problem.pad_top = static_cast<int>(window.pad_begin[0]);
  }
  problem.bf16 = src.dtype == DType::bf16;
  return problem;
}

template <typename Function>
void use(KernelPlan& plan, const char* name, size_t scratch_bytes, Function function) {
  plan.scratch_bytes = scratch_bytes;
  plan.kernel = std::make_unique<FunctionKernel<Function>>(std::move(function), name);
}

}  // namespace

bool plan_native_forward(const Conv& conv, const KernelRequest& request, const Layout& weights,
                         KernelPlan& plan) {
  native::Winograd problem;
  if (!describe_winograd(conv.window, conv.groups, request.inputs[0], request.outputs[0].shape,
                         weights, problem) ||
      !native::winograd_forward_should_use(problem)) {
    return false;
  }
  const bool bias = conv.bias;
  const bool relu = conv.relu;
  use(plan, "native:winograd", native::winograd_forward_scratch_bytes(problem),
      [=](const Operands& x, const Step& /*step*/) {
        native::winograd_forward(problem, x.in<float>(0), x.in<float>(1),
                                 bias ? x.in<float>(2) : nullptr, relu, x.out<float>(0), x.scratch);
      });
  return true;
}

bool plan_native_backward_data(const ConvBackwardData& conv, const KernelRequest& request,
                               const Layout& weights, KernelPlan& plan) {
  native::Winograd problem;
  if (!describe_winograd(conv.window, conv.groups, request.outputs[0], request.inputs[0].shape,
                         weights, problem) ||
      !native::winograd_backward_data_should_use(problem)) {
    return false;
  }
  use(plan, "native:winograd", native::winograd_backward_data_scratch_bytes(problem),
      [=](const Operands& x, const Step& /*step*/) {
        native::winograd_backward_data(problem, x.in<float>(0), x.in<float>(1), x.out<float>(0),
                                       x.scratch);
      });
  return true;
}

namespace {

/// One-dimensional signals are images of height 1.
native::DepthwiseShape describe_depthwise(const Window& window, const TensorType& src,
                                          const Shape& dst) {
  native::DepthwiseShape shape;
  shape.batch = src.shape[0];
  shape.channels = src.shape[1];
  shape.dtype = src.dtype;
  for (int i = 0; i < window.axes; ++i) {
    native::DepthwiseAxis& axis = i == window.axes - 1 ? shape.width : shape.height;
    const auto w = static_cast<size_t>(i);
    axis = {src.shape[2 + i], dst[2 + i],         window.kernel[w],
            window.stride[w], window.dilation[w], window.pad_begin[w]};
  }
  return shape;
}

/// oneDNN's takes four to thirty times as long. The result is plain; it is small.
bool plan_depthwise_backward_weights(const ConvBackwardWeights& conv, const KernelRequest& request,
                                     KernelPlan& plan) {
  const TensorType& src = request.inputs[0];
  const Shape& dst = request.inputs[1].shape;
  const auto last = static_cast<size_t>(conv.window.axes - 1);
  if (conv.groups == 1 || conv.groups != src.shape[1] || dst[1] != src.shape[1] ||
      conv.window.kernel[last] > native::kDepthwiseWidest) {
    return false;
  }
  const native::DepthwiseShape shape = describe_depthwise(conv.window, src, dst);
  const size_t own = align_up(native::depthwise_wgrad_scratch_bytes(shape));
  const bool bias = conv.bias;
  const int64_t rows = dst.elements() / dst[1];
  plan.output_layouts[0] = Layout::plain();
  const size_t further =
      bias ? static_cast<size_t>(native::bias_gradient_scratch_bytes(shape.channels)) : 0;
  use(plan, "native:depthwise", own + further, [=](const Operands& x, const Step& /*step*/) {
    native::depthwise_wgrad(shape, x.in(0), x.in(1), x.out<float>(0), x.scratch);
    if (bias) {
      native::bias_gradient(shape.dtype, rows, shape.channels, x.in(1), x.out<float>(1),
                            static_cast<std::byte*>(x.scratch) + own);
    }
  });
  return true;
}

}  // namespace

bool plan_native_backward_weights(const ConvBackwardWeights& conv, const KernelRequest& request,
                                  const Layout& diff_weights, KernelPlan& plan) {
  if (plan_depthwise_backward_weights(conv, request, plan)) return true;
  const TensorType& src = request.inputs[0];
  const Shape& dst = request.inputs[1].shape;
  const bool bias = conv.bias;
  native::Winograd winograd;
  if (describe_winograd(conv.window, conv.groups, src, dst, diff_weights, winograd) &&
      native::winograd_backward_weights_should_use(winograd)) {
    use(plan, "native:winograd", native::winograd_backward_weights_scratch_bytes(winograd),
        [=](const Operands& x, const Step& /*step*/) {
          native::winograd_backward_weights(winograd, x.in<float>(0), x.in<float>(1),
                                            x.out<float>(0), bias ? x.out<float>(1) : nullptr,
                                            x.scratch);
        });
    return true;
  }
  native::ConvWgrad problem = describe_wgrad(conv.window, src, dst);
  if (conv.groups != 1 || !describe_weights_for_native(diff_weights, problem.layout) ||
      !native::conv_wgrad_supported(problem) || !native::conv_wgrad_should_use(problem)) {
    return false;
  }
  use(plan, "native:wgrad", native::conv_wgrad_scratch_bytes(problem),
      [=](const Operands& x, const Step& /*step*/) {
        native::conv_wgrad(problem, x.in(0), x.in(1), x.out<float>(0),
                           bias ? x.out<float>(1) : nullptr, x.scratch);
      });
  return true;
}

}  // namespace syrtos::ops::cpu
