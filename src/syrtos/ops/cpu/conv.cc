// Convolution and its gradients. Images lie channels-last, which oneDNN's matrix-based kernels take
// as they are; weights take the blocked form that the forward kernel asks for. The data gradient
// wants them transposed, so the compiler inserts one reorder of the weights per step for it.

#include "syrtos/ops/conv.h"

#include <string_view>

#include "syrtos/base/error.h"
#include "syrtos/ops/cpu/blocked_layout.h"
#include "syrtos/ops/cpu/conv_amx.h"
#include "syrtos/ops/cpu/conv_native.h"
#include "syrtos/ops/cpu/makers.h"

namespace syrtos::ops::cpu {

namespace {

using dnnl::algorithm;
using dnnl::memory;
using dnnl::prop_kind;
using Source = PrimitiveKernel::Source;

// The window in oneDNN's terms; its dilation counts the gaps.
struct Geometry {
  memory::dims stride;
  memory::dims dilation;
  memory::dims pad_begin;
  memory::dims pad_end;

  explicit Geometry(const Window& window) {
    for (size_t axis = 0; axis < static_cast<size_t>(window.axes); ++axis) {
      stride.push_back(window.stride[axis]);
      dilation.push_back(window.dilation[axis] - 1);
      pad_begin.push_back(window.pad_begin[axis]);
      pad_end.push_back(window.pad_end[axis]);
    }
  }
};

// [O, I/g, k...] or, with groups, [g, O/g, I/g, k...]: the same bytes in plain order.
memory::dims weight_dims(const Shape& shape, int64_t groups) {
  memory::dims dims = dims_of(shape);
  if (groups > 1) {
    dims[0] /= groups;
    dims.insert(dims.begin(), groups);
  }
  return dims;
}

memory::desc image(const TensorType& type) { return describe(type, Layout::channels_last()); }

memory::desc any_weights(const memory::dims& dims, DType dtype) {
  return {dims, data_type(dtype), memory::format_tag::any};
}

bool is_slow(std::string_view implementation) {
  return implementation.starts_with("ref") || implementation.starts_with("gemm") ||
         implementation.starts_with("jit_gemm");
}

using Forward = dnnl::convolution_forward;

Forward::primitive_desc describe_forward(const Engine& engine, const Conv& conv,
                                         const KernelRequest& request,
                                         const memory::desc& weights) {
  const Geometry g(conv.window);
  const dnnl::primitive_attr attr = conv.relu ? attributes_with_relu() : attributes();
  const memory::desc src = image(request.inputs[0]);
  const memory::desc dst = image(request.outputs[0]);
  if (conv.bias) {
    const memory::desc bias = describe(request.inputs[2], Layout::plain());
    return {engine.engine,
            prop_kind::forward_training,
            algorithm::convolution_direct,
            src,
            weights,
            bias,
            dst,
            g.stride,
            g.dilation,
            g.pad_begin,
            g.pad_end,
            attr};
  }
  return {engine.engine,
          prop_kind::forward_training,
          algorithm::convolution_direct,
          src,
          weights,
          dst,
          g.stride,
          g.dilation,
          g.pad_begin,
          g.pad_end,
          attr};
}

// The forward description that backward ones want as a hint.
Forward::primitive_desc forward_hint(const Engine& engine, const Window& window,
                                     const TensorType& src, const memory::desc& weights,
                                     const TensorType& dst) {
  const Geometry g(window);
  return {engine.engine,
          prop_kind::forward_training,
          algorithm::convolution_direct,
          image(src),
          weights,
          image(dst),
          g.stride,
          g.dilation,
          g.pad_begin,
          g.pad_end};
}

}  // namespace

KernelPlan make_conv(const std::shared_ptr<Engine>& engine, const KernelRequest& request) {
  const auto& conv = dynamic_cast<const Conv&>(request.op);
  const TensorType& weights = request.inputs[1];
  const memory::dims dims = weight_dims(weights.shape, conv.groups);
  KernelPlan plan;
  plan.input_layouts = {Layout::channels_last(), request.input_layouts[1], Layout::plain()};
  plan.input_layouts.resize(request.inputs.size());
  plan.output_layouts = {Layout::channels_last()};
  if (plan_amx_forward(conv, request, plan)) return plan;
  try {
    auto desc = describe_forward(*engine, conv, request, any_weights(dims, weights.dtype));
    const Layout& given = request.input_layouts[1];
    if (given.kind != Layout::Kind::any) {
      // Another program of the same model has chosen already: stay with it if that is not slow.
      const memory::desc fixed = describe_weights(dims, weights.dtype, given);
      if (!(fixed == desc.weights_desc())) {
        try {
          auto same = describe_forward(*engine, conv, request, fixed);
          if (!is_slow(same.impl_info_str())) desc = same;
        } catch (const dnnl::error&) {
          // That layout is not offered for this shape; the compiler reorders.
        }
      }
    }
    std::vector<PrimitiveKernel::Argument> arguments{
        {DNNL_ARG_SRC, desc.src_desc(), Source::input, 0},
        {DNNL_ARG_WEIGHTS, desc.weights_desc(), Source::input, 1},
        {DNNL_ARG_DST, desc.dst_desc(), Source::output, 0}};
    if (conv.bias) arguments.push_back({DNNL_ARG_BIAS, desc.bias_desc(), Source::input, 2});
    plan.input_layouts[1] = blocked(desc.weights_desc());
    if (plan_native_forward(conv, request, plan.input_layouts[1], plan)) return plan;
    plan.scratch_bytes = desc.scratchpad_desc().get_size();
    plan.kernel = make_primitive_kernel<Forward>(engine, desc, std::move(arguments));
    return plan;
  } catch (const dnnl::error& error) {
    fail_primitive(request, error);
  }
}

KernelPlan make_conv_backward_data(const std::shared_ptr<Engine>& engine,
                                   const KernelRequest& request) {
  using Backward = dnnl::convolution_backward_data;
  const auto& conv = dynamic_cast<const ConvBackwardData&>(request.op);
  KernelPlan plan;
  plan.input_layouts = {Layout::channels_last(), request.input_layouts[1]};
  plan.output_layouts = {Layout::channels_last()};
  if (plan_amx_backward_data(conv, request, plan)) return plan;
  if (plan_native_backward_data(conv, request, request.input_layouts[1], plan)) return plan;
  const TensorType& weights = request.inputs[1];
  const memory::desc any = any_weights(weight_dims(weights.shape, conv.groups), weights.dtype);
  const Geometry g(conv.window);
  try {
    const auto hint =
        forward_hint(*engine, conv.window, request.outputs[0], any, request.inputs[0]);
    const Backward::primitive_desc desc(
        engine->engine, algorithm::convolution_direct, image(request.outputs[0]), any,
        image(request.inputs[0]), g.stride, g.dilation, g.pad_begin, g.pad_end, hint, attributes());
    plan.input_layouts[1] = blocked(desc.weights_desc());
    plan.scratch_bytes = desc.scratchpad_desc().get_size();
    plan.kernel = make_primitive_kernel<Backward>(
        engine, desc,
        {{DNNL_ARG_DIFF_DST, desc.diff_dst_desc(), Source::input, 0},
         {DNNL_ARG_WEIGHTS, desc.weights_desc(), Source::input, 1},
         {DNNL_ARG_DIFF_SRC, desc.diff_src_desc(), Source::output, 0}});
    return plan;
  } catch (const dnnl::error& error) {
    fail_primitive(request, error);
  }
}

KernelPlan make_conv_backward_weights(const std::shared_ptr<Engine>& engine,
                                      const KernelRequest& request) {
  using Backward = dnnl::convolution_backward_weights;
  const auto& conv = dynamic_cast<const ConvBackwardWeights&>(request.op);
  KernelPlan plan;
  plan.input_layouts = {Layout::channels_last(), Layout::channels_last()};
  plan.output_layouts = {request.output_layouts[0], Layout::plain()};
  plan.output_layouts.resize(request.outputs.size());

  if (plan_amx_backward_weights(conv, request, plan)) return plan;
  if (plan_native_backward_weights(conv, request, request.output_layouts[0], plan)) return plan;

  const TensorType& src = request.inputs[0];
  const TensorType& dst = request.inputs[1];
  const memory::dims dims = weight_dims(request.outputs[0].shape, conv.groups);
  const Geometry g(conv.window);
  try {
    const auto hint = forward_hint(*engine, conv.window, src, any_weights(dims, src.dtype), dst);
    const memory::desc any = any_weights(dims, DType::f32);
    const auto make = [&]() -> Backward::primitive_desc {
      if (conv.bias) {
        const memory::desc bias = describe(request.outputs[1], Layout::plain());
        return {engine->engine, algorithm::convolution_direct,
                image(src),     any,
                bias,           image(dst),
                g.stride,       g.dilation,
                g.pad_begin,    g.pad_end,
                hint,           attributes()};
      }
      return {engine->engine, algorithm::convolution_direct,
              image(src),     any,
              image(dst),     g.stride,
              g.dilation,     g.pad_begin,
              g.pad_end,      hint,
              attributes()};
    };
    const Backward::primitive_desc desc = make();
    plan.output_layouts[0] = blocked(desc.diff_weights_desc());
    plan.scratch_bytes = desc.scratchpad_desc().get_size();
    std::vector<PrimitiveKernel::Argument> arguments{
        {DNNL_ARG_SRC, desc.src_desc(), Source::input, 0},
        {DNNL_ARG_DIFF_DST, desc.diff_dst_desc(), Source::input, 1},
        {DNNL_ARG_DIFF_WEIGHTS, desc.diff_weights_desc(), Source::output, 0}};
    if (conv.bias) {
      arguments.push_back({DNNL_ARG_DIFF_BIAS, desc.diff_bias_desc(), Source::output, 1});
    }
    plan.kernel = make_primitive_kernel<Backward>(engine, desc, std::move(arguments));
    return plan;
  } catch (const dnnl::error& error) {
    fail_primitive(request, error);
  }
}

}  // namespace syrtos::ops::cpu
