// Recurrent layers: our own walk along the sequence, and the weights' gradient, which is one
// product over all steps, by oneDNN.

#include "syrtos/ops/recurrence.h"

#include "syrtos/base/error.h"
#include "syrtos/ops/cpu/native_kernel.h"
#include "syrtos/ops/native/recurrence.h"
#include "syrtos/ops/native/reduction.h"

namespace syrtos::ops::cpu {

namespace {

using dnnl::memory;
using Source = PrimitiveKernel::Source;

native::Recurrence problem_of(RecurrenceKind kind, bool reverse, const TensorType& hidden) {
  native::Recurrence problem;
  problem.kind = static_cast<native::CellKind>(kind);
  problem.reverse = reverse;
  problem.steps = hidden.shape[0];
  problem.batch = hidden.shape[1];
  problem.units = hidden.shape[2];
  problem.dtype = hidden.dtype;
  return problem;
}

void check_lengths(const native::Recurrence& problem, const int32_t* lengths) {
  if (lengths == nullptr) return;
  const int64_t bad = native::find_bad_length(problem, lengths);
  if (bad < 0) return;
  fail_run("length {} (of sample {}) is out of range: expected 0 to {} steps; check the data",
           lengths[bad], bad, problem.steps);
}

KernelPlan make_recurrence(const std::shared_ptr<Engine>& /*engine*/,
                           const KernelRequest& request) {
  const auto& op = dynamic_cast<const Recurrence&>(request.op);
  const native::Recurrence problem = problem_of(op.kind, op.reverse, request.outputs[0]);
  const bool has_lengths = request.inputs.size() == 4;
  KernelPlan plan = plain_plan(request, [=](const Operands& x, const Step& /*step*/) {
    const int32_t* lengths = has_lengths ? x.in<int32_t>(3) : nullptr;
    check_lengths(problem, lengths);
    native::recurrence_forward(problem,
                               {x.in(0), x.in(1), x.in<float>(2), lengths, x.out(0),
                                problem.kept() > 0 ? x.out<float>(1) : nullptr},
                               x.scratch);
  });
  plan.scratch_bytes = native::recurrence_forward_scratch_bytes(problem);
  return plan;
}

/// The walk back, then the sums over all steps and samples that the weights' and the bias'
/// gradients are.
class RecurrenceBackwardKernel : public Kernel {
 public:
  RecurrenceBackwardKernel(std::shared_ptr<Engine> engine, const RecurrenceBackward& op,
                           const native::Recurrence& problem, size_t inputs)
      : engine_(std::move(engine)),
        problem_(problem),
        kept_at_(op.kept_at()),
        diff_at_(op.diff_at()),
        lengths_at_(op.lengths_at(inputs)) {
    if (problem_.steps > 1) weights_ = describe_weights();
  }

  size_t plan_scratch() {
    size_t bytes = align_up(native::recurrence_backward_scratch_bytes(problem_));
    bias_at_ = bytes;
    bytes += align_up(static_cast<size_t>(native::bias_gradient_scratch_bytes(columns())));
    product_at_ = bytes;
    if (problem_.steps > 1) bytes += align_up(weights_.scratchpad_desc().get_size());
    recurrent_at_ = bytes;
    if (has_own_gradient()) bytes += align_up(static_cast<size_t>(rows() * columns()) * element());
    return bytes;
  }

  void bind(std::span<void* const> inputs, std::span<void* const> outputs, void* scratch) override {
    const auto at = [&](int index) {
      return index < 0 ? nullptr : inputs[static_cast<size_t>(index)];
    };
    auto* base = static_cast<std::byte*>(scratch);
    void* recurrent = has_own_gradient() ? base + recurrent_at_ : nullptr;
    lengths_ = static_cast<const int32_t*>(at(lengths_at_));
    walk_ = {inputs[0],  inputs[1], static_cast<const float*>(at(kept_at_)), at(diff_at_), lengths_,
             outputs[0], recurrent};
    walk_scratch_ = scratch;
    summed_ = recurrent == nullptr ? outputs[0] : recurrent;
    diff_weights_ = static_cast<float*>(outputs[1]);
    diff_bias_ = static_cast<float*>(outputs[2]);
    bias_scratch_ = base + bias_at_;
    if (problem_.steps > 1) bind_product(inputs[1], base + product_at_);
  }

  void run(const Step& step) override {
    check_lengths(problem_, lengths_);
    native::recurrence_backward(problem_, walk_, walk_scratch_);
    native::bias_gradient(problem_.dtype, rows(), columns(), summed_, diff_bias_, bias_scratch_);
    if (product_ != nullptr) {
      product_->run(step);
    } else {
      std::fill_n(diff_weights_, columns() * problem_.units, 0.0F);
    }
  }

  std::string implementation() const override {
    return problem_.steps > 1 ? std::string("native+") + weights_.impl_info_str() : "native";
  }

 private:
  int64_t columns() const { return problem_.gates() * problem_.units; }
  int64_t rows() const { return problem_.steps * problem_.batch; }
  size_t element() const { return size_of(problem_.dtype); }
  /// In gru the gradient of what goes through the weights is another than that of the input's
  /// share.
  bool has_own_gradient() const { return problem_.kind == native::CellKind::gru; }

  /// Gradients of all steps but the first that is walked, transposed, times the hidden values of
  /// the steps before them: neighbours in memory, as steps come first.
  dnnl::matmul::primitive_desc describe_weights() const {
    const memory::dim inner = (problem_.steps - 1) * problem_.batch;
    const memory::data_type type = data_type(problem_.dtype);
    const memory::desc diff({columns(), inner}, type, memory::dims{1, columns()});
    const memory::desc hidden({inner, problem_.units}, type, memory::dims{problem_.units, 1});
    const memory::desc result({columns(), problem_.units}, memory::data_type::f32,
                              memory::dims{problem_.units, 1});
    return {engine_->engine, diff, hidden, result, attributes()};
  }

  void bind_product(void* hidden, void* scratch) {
    product_ = make_primitive_kernel<dnnl::matmul>(
        engine_, weights_,
        {{DNNL_ARG_SRC, weights_.src_desc(), Source::input, 0},
         {DNNL_ARG_WEIGHTS, weights_.weights_desc(), Source::input, 1},
         {DNNL_ARG_DST, weights_.dst_desc(), Source::output, 0}});
    const int64_t step = problem_.batch * static_cast<int64_t>(element());
    const int64_t later = step * columns();
    const int64_t earlier = step * problem_.units;
    void* const from[] = {static_cast<std::byte*>(summed_) + (problem_.reverse ? 0 : later),
                          static_cast<std::byte*>(hidden) + (problem_.reverse ? earlier : 0)};
    void* const to[] = {diff_weights_};
    product_->bind(from, to, scratch);
  }

  std::shared_ptr<Engine> engine_;
  native::Recurrence problem_;
  int kept_at_;
  int diff_at_;
  int lengths_at_;
  dnnl::matmul::primitive_desc weights_;
  size_t bias_at_ = 0;
  size_t product_at_ = 0;
  size_t recurrent_at_ = 0;
  const int32_t* lengths_ = nullptr;
  native::RecurrenceBackward walk_;
  void* walk_scratch_ = nullptr;
  void* summed_ = nullptr;
  float* diff_weights_ = nullptr;
  float* diff_bias_ = nullptr;
  void* bias_scratch_ = nullptr;
  std::unique_ptr<Kernel> product_;
};

KernelPlan make_recurrence_backward(const std::shared_ptr<Engine>& engine,
                                    const KernelRequest& request) {
  const auto& op = dynamic_cast<const RecurrenceBackward&>(request.op);
  const native::Recurrence problem = problem_of(op.kind, op.reverse, request.inputs[1]);
  try {
    auto kernel =
        std::make_unique<RecurrenceBackwardKernel>(engine, op, problem, request.inputs.size());
    KernelPlan plan;
    plan.input_layouts.assign(request.inputs.size(), Layout::plain());
    plan.output_layouts.assign(request.outputs.size(), Layout::plain());
    plan.scratch_bytes = kernel->plan_scratch();
    plan.kernel = std::move(kernel);
    return plan;
  } catch (const dnnl::error& error) {
    fail_primitive(request, error);
  }
}

}  // namespace

Maker find_recurrence_maker(std::string_view operation) {
  if (operation == "rnn" || operation == "lstm" || operation == "gru") return make_recurrence;
  if (operation == "rnn.backward" || operation == "lstm.backward" || operation == "gru.backward") {
    return make_recurrence_backward;
  }
  return nullptr;
}

}  // namespace syrtos::ops::cpu
