#include "syrtos/ops/matmul.h"

#include <algorithm>
#include <utility>

#include "syrtos/ops/cpu/makers.h"
#include "syrtos/ops/cpu/native_kernel.h"
#include "syrtos/ops/native/amx/dense.h"
#include "syrtos/ops/native/dense.h"
#include "syrtos/ops/native/elementwise.h"

namespace syrtos::ops::cpu {

using dnnl::memory;
using Source = PrimitiveKernel::Source;

namespace {

template <typename Function>
void use_dense(KernelPlan& plan, size_t scratch_bytes, Function function,
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
    use_dense(
        plan, native::dense_forward_scratch_bytes(problem),
        [=](const Operands& x, const Step& /*step*/) {
          native::dense_forward(problem, x.in<float>(0), x.in<float>(1),
                                bias ? x.in<float>(2) : nullptr, relu, x.out<float>(0), x.scratch);
        },
        "native:dense");
  } else if (op.transpose_a) {
    use_dense(
        plan, native::dense_backward_weights_scratch_bytes(problem),
        [=](const Operands& x, const Step& /*step*/) {
          native::dense_backward_weights(problem, x.in<float>(1), x.in<float>(0), x.out<float>(0),
                                         x.scratch);
        },
        "native:dense");
  } else {
    use_dense(
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
  const bool backward_data = !op.transpose_a && !op.transpose_b && !f32;
  const bool backward_weights = op.transpose_a && !op.transpose_b && !op.bias && !op.relu && f32;
  if (!forward && !backward_data && !backward_weights) return false;
  native::AmxDense problem;
  problem.batch = static_cast<int>(a[0]);
  problem.in = static_cast<int>(b[1]);
  problem.out = static_cast<int>(forward ? b[0] : a[1]);
  if (!native::amx_dense_should_use(problem)) return false;
  const bool bias = op.bias;
  const bool relu = op.relu;
  const int64_t rows = a[0];
  const int64_t columns = b[1];
  if (forward) {
    use_dense(plan, native::amx_dense_forward_scratch_bytes(problem),
              [=](const Operands& x, const Step& /*step*/) {
                native::amx_dense_forward(problem, x.in<uint16_t>(0), x.in<uint16_t>(1),
                                          bias ? x.in<float>(2) : nullptr, relu, x.out<uint16_t>(0),
                                          f32 ? x.out<float>(0) : nullptr, x.scratch);
              });
  } else if (backward_data) {
    use_dense(plan, native::amx_dense_backward_data_scratch_bytes(problem),
              [=](const Operands& x, const Step& /*step*/) {
                native::amx_dense_backward_data(problem, x.in<uint16_t>(0), x.in<uint16_t>(1),
                                                x.out<uint16_t>(0), x.scratch);
                // A layer whose weights are [in, out] has the form of that product.
                if (bias) {
                  native::bias_add(DType::bf16, rows, columns, x.out(0), x.in<float>(2), relu,
                                   x.out(0));
                } else if (relu) {
                  native::relu(DType::bf16, rows * columns, x.out(0), x.out(0));
                }
              });
  } else {
    use_dense(plan, native::amx_dense_backward_weights_scratch_bytes(problem),
              [=](const Operands& x, const Step& /*step*/) {
                native::amx_dense_backward_weights(problem, x.in<uint16_t>(1), x.in<uint16_t>(0),
                                                   x.out<float>(0), x.scratch);
              });
  }
  return true;
}

/// A factor or a result as oneDNN sees it: with as many axes as the result, row-major, the last two
/// exchanged where the product takes it transposed.
memory::desc describe_factor(const TensorType& type, int rank, bool transposed) {
  memory::dims dims(static_cast<size_t>(rank - type.shape.rank()), 1);
  dims.insert(dims.end(), type.shape.begin(), type.shape.end());
  memory::dims strides(dims.size());
  int64_t stride = 1;
  for (size_t i = dims.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= dims[i];
  }
  if (transposed) {
    std::swap(dims[dims.size() - 1], dims[dims.size() - 2]);
    std::swap(strides[dims.size() - 1], strides[dims.size() - 2]);
  }
  return {dims, data_type(type.dtype), strides};
}

/// Whether rows of b lie a multiple of a page apart, so that a column of it falls on few lines of
/// the cache: oneDNN's kernels, which read it in place, then take twice as long. Packing it first
/// pays where enough rows of a use it.
bool should_pack(const MatMul& op, const KernelRequest& request) {
  constexpr int64_t kPage = 4096;
  constexpr int64_t kRows = 128;
  const TensorType& b = request.inputs[1];
  return b.dtype == DType::f32 && b.shape.rank() == 2 && request.outputs[0].shape.rank() == 2 &&
         !op.transpose_b && b.shape[0] >= kRows && request.outputs[0].shape[0] >= kRows &&
         b.shape[1] * static_cast<int64_t>(sizeof(float)) % kPage == 0;
}

/// A product that first copies its second factor into the scratch, in the form that its kernel
/// likes best.
class PackedKernel : public Kernel {
 public:
  PackedKernel(std::unique_ptr<Kernel> packing, std::unique_ptr<Kernel> product, size_t packed)
      : packing_(std::move(packing)), product_(std::move(product)), packed_bytes_(packed) {}

  void bind(std::span<void* const> inputs, std::span<void* const> outputs, void* scratch) override {
    void* rest = static_cast<std::byte*>(scratch) + align_up(packed_bytes_);
    const std::vector<void*> source{inputs[1]};
    const std::vector<void*> packed{scratch};
    packing_->bind(source, packed, rest);
    std::vector<void*> factors(inputs.begin(), inputs.end());
    factors[1] = scratch;
    product_->bind(factors, outputs, rest);
  }
  void move_input(size_t input, void* address) override {
    input == 1 ? packing_->move_input(0, address) : product_->move_input(input, address);
  }
  void run(const Step& step) override {
    packing_->run(step);
    product_->run(step);
  }
  std::string implementation() const override { return product_->implementation() + "+packing"; }

 private:
  std::unique_ptr<Kernel> packing_;
  std::unique_ptr<Kernel> product_;
  size_t packed_bytes_;
};

}  // namespace

// Everything is row-major here, the weights of dense layers too: with batches of tens of rows these
// products are bound by reading or writing the weights once, which a blocked form does not change.
KernelPlan make_matmul(const std::shared_ptr<Engine>& engine, const KernelRequest& request) {
  const auto& op = dynamic_cast<const MatMul&>(request.op);
  KernelPlan plan;
  plan.input_layouts.assign(request.inputs.size(), Layout::plain());
  plan.output_layouts = {Layout::plain()};
  const TensorType& dst = request.outputs[0];
  const int rank = dst.shape.rank();
  if (rank == 2 && (plan_amx(op, request, plan) || plan_f32(op, request, plan))) return plan;
  const memory::desc a = describe_factor(request.inputs[0], rank, op.transpose_a);
  const memory::desc b = describe_factor(request.inputs[1], rank, op.transpose_b);
  const memory::desc c = describe_factor(dst, rank, false);
  const dnnl::primitive_attr attr = op.relu ? attributes_with_relu() : attributes();
  try {
    const bool packs = should_pack(op, request);
    const memory::desc any(b.get_dims(), b.get_data_type(), memory::format_tag::any);
    const memory::desc& wanted = packs ? any : b;
    const auto make = [&]() -> dnnl::matmul::primitive_desc {
      if (op.bias) {
        const memory::desc bias = describe_factor(request.inputs[2], rank, false);
        return {engine->engine, a, wanted, bias, c, attr};
      }
      return {engine->engine, a, wanted, c, attr};
    };
    const dnnl::matmul::primitive_desc desc = make();
    const memory::desc factor = desc.weights_desc();
    std::vector<PrimitiveKernel::Argument> arguments{{DNNL_ARG_SRC, a, Source::input, 0},
                                                     {DNNL_ARG_WEIGHTS, factor, Source::input, 1},
                                                     {DNNL_ARG_DST, c, Source::output, 0}};
    if (op.bias) arguments.push_back({DNNL_ARG_BIAS, desc.bias_desc(), Source::input, 2});
    plan.scratch_bytes = desc.scratchpad_desc().get_size();
    plan.kernel = make_primitive_kernel<dnnl::matmul>(engine, desc, std::move(arguments));
    if (factor == b) return plan;
    const dnnl::reorder::primitive_desc packing(engine->engine, b, engine->engine, factor,
                                                attributes());
    plan.scratch_bytes = std::max(plan.scratch_bytes, packing.scratchpad_desc().get_size()) +
                         align_up(factor.get_size());
    plan.kernel = std::make_unique<PackedKernel>(
        make_primitive_kernel<dnnl::reorder>(
            engine, packing,
            {{DNNL_ARG_SRC, b, Source::input, 0}, {DNNL_ARG_DST, factor, Source::output, 0}}),
        std::move(plan.kernel), factor.get_size());
    return plan;
  } catch (const dnnl::error& error) {
    fail_primitive(request, error);
  }
}

}  // namespace syrtos::ops::cpu
