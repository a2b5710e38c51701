#include "syrtos/ops/cpu/conv_amx.h"

#include "syrtos/ops/cpu/blocked_layout.h"
#include "syrtos/ops/cpu/native_kernel.h"
#include "syrtos/ops/native/amx/conv.h"

namespace syrtos::ops::cpu {

namespace {

/// False where these kernels are not meant for the convolution.
bool describe_amx(const Window& window, int64_t groups, const TensorType& src, const Shape& dst,
                  native::AmxConv& problem) {
  if (groups != 1 || src.dtype != DType::bf16) return false;
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
  if (window.axes == 2) {  // a one-dimensional image is one row of a two-dimensional one
    problem.in_h = static_cast<int>(src.shape[2]);
    problem.out_h = static_cast<int>(dst[2]);
    problem.kernel_h = static_cast<int>(window.kernel[0]);
    problem.stride_h = static_cast<int>(window.stride[0]);
    problem.dilation_h = static_cast<int>(window.dilation[0]);
    problem.pad_top = static_cast<int>(window.pad_begin[0]);
  }
  return native::amx_conv_should_use(problem);
}

Layout weights_layout(const native::AmxConv& problem, const Shape& weights) {
  if (!native::amx_conv_tiled(problem)) return Layout::plain();
  using dnnl::memory;
  const auto tag =
      weights.rank() == 4 ? memory::format_tag::AcdB16b16a2b : memory::format_tag::AcB16b16a2b;
  return blocked({dims_of(weights), memory::data_type::bf16, tag});
}

template <typename Function>
void use_amx(KernelPlan& plan, size_t scratch_bytes, Function function) {
  plan.scratch_bytes = scratch_bytes;
  plan.kernel = std::make_unique<FunctionKernel<Function>>(std::move(function), "native:amx");
}

}  // namespace

bool plan_amx_forward(const Conv& conv, const KernelRequest& request, KernelPlan& plan) {
  native::AmxConv problem;
  if (!describe_amx(conv.window, conv.groups, request.inputs[0], request.outputs[0].shape,
                    problem)) {
    return false;
  }
  plan.input_layouts[1] = weights_layout(problem, request.inputs[1].shape);
  const bool bias = conv.bias;
  const bool relu = conv.relu;
  use_amx(plan, native::amx_conv_forward_scratch_bytes(problem),
          [=](const Operands& x, const Step& /*step*/) {
            native::amx_conv_forward(problem, x.in<uint16_t>(0), x.in<uint16_t>(1),
                                     bias ? x.in<float>(2) : nullptr, relu, x.out<uint16_t>(0),
                                     x.scratch);
          });
  return true;
}

bool plan_amx_backward_data(const ConvBackwardData& conv, const KernelRequest& request,
                            KernelPlan& plan) {
  native::AmxConv problem;
  if (!describe_amx(conv.window, conv.groups, request.outputs[0], request.inputs[0].shape,
                    problem)) {
    return false;
  }
  plan.input_layouts[1] = weights_layout(problem, request.inputs[1].shape);
  use_amx(plan, native::amx_conv_backward_data_scratch_bytes(problem),
          [=](const Operands& x, const Step& /*step*/) {
            native::amx_conv_backward_data(problem, x.in<uint16_t>(0), x.in<uint16_t>(1),
                                           x.out<uint16_t>(0), x.scratch);
          });
  return true;
}

bool plan_amx_backward_weights(const ConvBackwardWeights& conv, const KernelRequest& request,
                               KernelPlan& plan) {
  native::AmxConv problem;
  if (!describe_amx(conv.window, conv.groups, request.inputs[0], request.inputs[1].shape,
                    problem)) {
    return false;
  }
  plan.output_layouts[0] = weights_layout(problem, request.outputs[0].shape);
  const bool bias = conv.bias;
  use_amx(plan, native::amx_conv_backward_weights_scratch_bytes(problem),
          [=](const Operands& x, const Step& /*step*/) {
            native::amx_conv_backward_weights(problem, x.in<uint16_t>(0), x.in<uint16_t>(1),
                                              x.out<float>(0), bias ? x.out<float>(1) : nullptr,
                                              x.scratch);
          });
  return true;
}

}  // namespace syrtos::ops::cpu
