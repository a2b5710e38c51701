#include "syrtos/ops/matmul.h"

#include "syrtos/ops/native/amx/dense.h"
#include "syrtos/ops/native/dense.h"
#include "syrtos/ops/onednn/makers.h"
#include "syrtos/ops/onednn/native_kernel.h"

namespace syrtos::ops::onednn {

using dnnl::memory;
using Source = PrimitiveKernel::Source;

namespace {

template <typename Function>
void use(KernelPlan& plan, size_t scratch_bytes, Function function,
         const char* name = "native:amx") {
  plan.scratch_bytes = scratch_bytes;
  plan.kernel = std::make_unique<FunctionKernel<Function>>(std::move(function), name);
}

/// Our kernels for the three products of a large dense layer in f32.
bool plan_f32(const MatMul& op, const KernelRequest& request, KernelPlan& plan) {
  if (request.inputs[0].dtype != DType::f32 || request.inputs[1].dtype != DType::f32) return false;
  const bool forward = !op.transpose_a && op.transpose_b;
  if (!forward && (op.transpose_b || op.bias || op.relu)) return false;
  const Shape& a = request.inputs[0].shape;
  const Shape& b = request.inputs[1].shape;
  const native::Dense problem{a[0], b[1], forward ? b[0] : a[1]};
  if (!native::dense_should_use(problem)) return false;
  if (forward) {
    const bool bias = op.bias;
    const bool relu = op.relu;
    use(
        plan, native::dense_forward_scratch_bytes(problem),
        [=](const Operands& x, const Step& /*step*/) {
          native::dense_forward(problem, x.in<float>(0), x.in<float>(1),
                                bias ? x.in<float>(2) : nullptr, relu, x.out<float>(0), x.scratch);
        },
        "native:dense");
  } else if (op.transpose_a) {
    use(
        plan, native::dense_backward_weights_scratch_bytes(problem),
        [=](const Operands& x, const Step& /*step*/) {
          native::dense_backward_weights(problem, x.in<float>(1), x.in<float>(0), x.out<float>(0),
                                         x.scratch);
        },
        "native:dense");
  } else {
    use(
        plan, native::dense_backward_data_scratch_bytes(problem),
        [=](const Operands& x, const Step& /*step*/) {
          native::dense_backward_data(problem, x.in<float>(0), x.in<float>(1), x.out<float>(0),
                                      x.scratch);
        },
        "native:dense");
  }
  return true;
}

/// Our kernels for the three products of a dense layer, where the CPU has AMX; false elsewhere.
bool plan_amx(const MatMul& op, const KernelRequest& request, KernelPlan& plan) {
  if (request.inputs[0].dtype != DType::bf16 || request.inputs[1].dtype != DType::bf16) {
    return false;
  }
  const Shape& a = request.inputs[0].shape;
  const Shape& b = request.inputs[1].shape;
  const bool f32 = request.outputs[0].dtype == DType::f32;
  const bool forward = !op.transpose_a && op.transpose_b;
  const bool backward_data = !op.transpose_a && !op.transpose_b && !op.bias && !op.relu && !f32;
  const bool backward_weights = op.transpose_a && !op.transpose_b && !op.bias && !op.relu && f32;
  if (!forward && !backward_data && !backward_weights) return false;
  native::AmxDense problem;
  problem.batch = static_cast<int>(a[0]);
  problem.in = static_cast<int>(b[1]);
  problem.out = static_cast<int>(forward ? b[0] : a[1]);
  if (!native::amx_dense_should_use(problem)) return false;
  if (forward) {
    const bool bias = op.bias;
    const bool relu = op.relu;
    use(plan, native::amx_dense_forward_scratch_bytes(problem),
        [=](const Operands& x, const Step& /*step*/) {
          native::amx_dense_forward(problem, x.in<uint16_t>(0), x.in<uint16_t>(1),
                                    bias ? x.in<float>(2) : nullptr, relu, x.out<uint16_t>(0),
                                    f32 ? x.out<float>(0) : nullptr, x.scratch);
        });
  } else if (backward_data) {
    use(plan, native::amx_dense_backward_data_scratch_bytes(problem),
        [=](const Operands& x, const Step& /*step*/) {
          native::amx_dense_backward_data(problem, x.in<uint16_t>(0), x.in<uint16_t>(1),
                                          x.out<uint16_t>(0), x.scratch);
        });
  } else {
    use(plan, native::amx_dense_backward_weights_scratch_bytes(problem),
        [=](const Operands& x, const Step& /*step*/) {
          native::amx_dense_backward_weights(problem, x.in<uint16_t>(1), x.in<uint16_t>(0),
                                             x.out<float>(0), x.scratch);
        });
  }
  return true;
}

}  // namespace

// Everything is row-major here, the weights of dense layers too: with batches of tens of rows these
// products are bound by reading or writing the weights once, which a blocked form does not change.
KernelPlan make_matmul(const std::shared_ptr<Engine>& engine, const KernelRequest& request) {
  const auto& op = dynamic_cast<const MatMul&>(request.op);
  KernelPlan plan;
  plan.input_layouts.assign(request.inputs.size(), Layout::plain());
  plan.output_layouts = {Layout::plain()};
  if (plan_amx(op, request, plan) || plan_f32(op, request, plan)) return plan;
  const TensorType& dst = request.outputs[0];
  const int64_t rows = dst.shape[0];
  const int64_t columns = dst.shape[1];
  const int64_t inner = request.inputs[0].shape[op.transpose_a ? 0 : 1];
  const memory::desc a = describe_matrix(rows, inner, request.inputs[0].dtype, op.transpose_a);
  const memory::desc b = describe_matrix(inner, columns, request.inputs[1].dtype, op.transpose_b);
  const memory::desc c = describe_matrix(rows, columns, dst.dtype, false);
  const dnnl::primitive_attr attr = op.relu ? attributes_with_relu() : attributes();
  try {
    const auto make = [&]() -> dnnl::matmul::primitive_desc {
      if (op.bias) {
        const memory::desc bias = describe_matrix(1, columns, DType::f32, false);
        return {engine->engine, a, b, bias, c, attr};
      }
      return {engine->engine, a, b, c, attr};
    };
    const dnnl::matmul::primitive_desc desc = make();
    std::vector<PrimitiveKernel::Argument> arguments{{DNNL_ARG_SRC, a, Source::input, 0},
                                                     {DNNL_ARG_WEIGHTS, b, Source::input, 1},
                                                     {DNNL_ARG_DST, c, Source::output, 0}};
    if (op.bias) arguments.push_back({DNNL_ARG_BIAS, desc.bias_desc(), Source::input, 2});
    plan.scratch_bytes = desc.scratchpad_desc().get_size();
    plan.kernel = make_primitive_kernel<dnnl::matmul>(engine, desc, std::move(arguments));
    return plan;
  } catch (const dnnl::error& error) {
    fail_primitive(request, error);
  }
}

}  // namespace syrtos::ops::onednn
