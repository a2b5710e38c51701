#include "syrtos/ops/lrn.h"

#include "syrtos/ops/cpu/makers.h"

namespace syrtos::ops::cpu {

namespace {

using dnnl::algorithm;
using dnnl::prop_kind;
using Source = PrimitiveKernel::Source;

// Without the workspace that forward_training writes: the backward pass computes the sums anew,
// which costs less than keeping a second tensor of the size of the activations.
template <typename Lrn>
dnnl::lrn_forward::primitive_desc describe_forward(const Engine& engine, const Lrn& op,
                                                   const TensorType& type, prop_kind kind) {
  const dnnl::memory::desc image = describe(type, activation_layout(type.shape));
  return {engine.engine, kind,    algorithm::lrn_across_channels,
          image,         image,   op.size,
          op.alpha,      op.beta, op.k,
          attributes()};
}

}  // namespace

KernelPlan make_lrn(const std::shared_ptr<Engine>& engine, const KernelRequest& request) {
  const auto& op = dynamic_cast<const LocalResponseNorm&>(request.op);
  const TensorType& type = request.inputs[0];
  try {
    const auto desc = describe_forward(*engine, op, type, prop_kind::forward_inference);
    KernelPlan plan;
    plan.input_layouts = {activation_layout(type.shape)};
    plan.output_layouts = {activation_layout(type.shape)};
    plan.scratch_bytes = desc.scratchpad_desc().get_size();
    plan.kernel = make_primitive_kernel<dnnl::lrn_forward>(
        engine, desc,
        {{DNNL_ARG_SRC, desc.src_desc(), Source::input, 0},
         {DNNL_ARG_DST, desc.dst_desc(), Source::output, 0}});
    return plan;
  } catch (const dnnl::error& error) {
    fail_primitive(request, error);
  }
}

// oneDNN's backward may need the workspace of a training forward pass; this kernel runs that
// forward into scratch memory first.
namespace {

class LrnBackwardKernel : public Kernel {
 public:
  LrnBackwardKernel(std::shared_ptr<Engine> engine,
                    const dnnl::lrn_forward::primitive_desc& forward,
                    const dnnl::lrn_backward::primitive_desc& backward)
      : engine_(std::move(engine)), forward_(forward), backward_(backward) {}

  size_t plan_scratch() {
    const auto take = [&](size_t bytes) {
      const size_t offset = scratch_bytes_;
      scratch_bytes_ += align_up(bytes);
      return offset;
    };
    dst_at_ = take(forward_.dst_desc().get_size());
    workspace_at_ = take(forward_.workspace_desc().get_size());
    forward_scratch_at_ = take(forward_.scratchpad_desc().get_size());
    backward_scratch_at_ = take(backward_.scratchpad_desc().get_size());
    return scratch_bytes_;
  }

  void bind(std::span<void* const> inputs, std::span<void* const> outputs, void* scratch) override {
    auto* base = static_cast<std::byte*>(scratch);
    run_forward_ = make_primitive_kernel<dnnl::lrn_forward>(
        engine_, forward_,
        {{DNNL_ARG_SRC, forward_.src_desc(), Source::input, 0},
         {DNNL_ARG_DST, forward_.dst_desc(), Source::output, 0},
         {DNNL_ARG_WORKSPACE, forward_.workspace_desc(), Source::output, 1}});
    void* const forward_inputs[] = {inputs[0]};
    void* const forward_outputs[] = {base + dst_at_, base + workspace_at_};
    run_forward_->bind(forward_inputs, forward_outputs, base + forward_scratch_at_);
    run_backward_ = make_primitive_kernel<dnnl::lrn_backward>(
        engine_, backward_,
        {{DNNL_ARG_SRC, backward_.src_desc(), Source::input, 0},
         {DNNL_ARG_DIFF_DST, backward_.diff_dst_desc(), Source::input, 1},
         {DNNL_ARG_WORKSPACE, backward_.workspace_desc(), Source::input, 2},
         {DNNL_ARG_DIFF_SRC, backward_.diff_src_desc(), Source::output, 0}});
    void* const backward_inputs[] = {inputs[0], inputs[1], base + workspace_at_};
    run_backward_->bind(backward_inputs, outputs, base + backward_scratch_at_);
  }
  void run(const Step& step) override {
    run_forward_->run(step);
    run_backward_->run(step);
  }
  std::string implementation() const override { return backward_.impl_info_str(); }

 private:
  std::shared_ptr<Engine> engine_;
  dnnl::lrn_forward::primitive_desc forward_;
  dnnl::lrn_backward::primitive_desc backward_;
  std::unique_ptr<Kernel> run_forward_;
  std::unique_ptr<Kernel> run_backward_;
  size_t scratch_bytes_ = 0;
  size_t dst_at_ = 0;
  size_t workspace_at_ = 0;
  size_t forward_scratch_at_ = 0;
  size_t backward_scratch_at_ = 0;
};

}  // namespace

KernelPlan make_lrn_backward(const std::shared_ptr<Engine>& engine, const KernelRequest& request) {
  const auto& op = dynamic_cast<const LocalResponseNormBackward&>(request.op);
  const TensorType& type = request.inputs[0];
  try {
    const auto forward = describe_forward(*engine, op, type, prop_kind::forward_training);
    const dnnl::memory::desc image = describe(type, activation_layout(type.shape));
    const dnnl::lrn_backward::primitive_desc backward(
        engine->engine, algorithm::lrn_across_channels, image, image, image, op.size, op.alpha,
        op.beta, op.k, forward, attributes());
    auto kernel = std::make_unique<LrnBackwardKernel>(engine, forward, backward);
    KernelPlan plan;
    plan.input_layouts.assign(2, activation_layout(type.shape));
    plan.output_layouts = {activation_layout(type.shape)};
    plan.scratch_bytes = kernel->plan_scratch();
    plan.kernel = std::move(kernel);
    return plan;
  } catch (const dnnl::error& error) {
    fail_primitive(request, error);
  }
}

}  // namespace syrtos::ops::cpu
