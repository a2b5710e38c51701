#include "syrtos/ops/matmul.h"

#include "syrtos/ops/onednn/makers.h"

namespace syrtos::ops::onednn {

using dnnl::memory;
using Source = PrimitiveKernel::Source;

// Everything is row-major here, the weights of dense layers too: with batches of tens of rows these
// products are bound by reading or writing the weights once, which a blocked form does not change.
KernelPlan make_matmul(const std::shared_ptr<Engine>& engine, const KernelRequest& request) {
  const auto& op = dynamic_cast<const MatMul&>(request.op);
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
    KernelPlan plan;
    plan.input_layouts.assign(request.inputs.size(), Layout::plain());
    plan.output_layouts = {Layout::plain()};
    plan.scratch_bytes = desc.scratchpad_desc().get_size();
    plan.kernel = make_primitive_kernel<dnnl::matmul>(engine, desc, std::move(arguments));
    return plan;
  } catch (const dnnl::error& error) {
    fail_primitive(request, error);
  }
}

}  // namespace syrtos::ops::onednn
