#include "syrtos/ops/batch_norm.h"
#include "syrtos/ops/cpu/native_kernel.h"
#include "syrtos/ops/native/batch_norm.h"

namespace syrtos::ops::cpu {

namespace {

native::BatchNormShape matrix_of(const TensorType& type) {
  return {rows_of(type.shape), type.shape[1], type.dtype};
}

/// A kernel whose function is called for its second half and another one before for its first, each
/// with the sums.
template <typename First, typename Second>
class HalvesKernel : public Kernel {
 public:
  HalvesKernel(int64_t sums, First first, Second second)
      : sums_(static_cast<size_t>(sums)), first_(std::move(first)), second_(std::move(second)) {}

  void bind(std::span<void* const> inputs, std::span<void* const> outputs, void* scratch) override {
    operands_ = {{inputs.begin(), inputs.end()}, {outputs.begin(), outputs.end()}, scratch};
  }
  void move_input(size_t input, void* address) override { operands_.inputs[input] = address; }
  std::span<float> sums() override { return sums_; }
  void run_first(const Step& /*step*/) override { first_(operands_, std::span(sums_)); }
  void run(const Step& /*step*/) override { second_(operands_, std::span<const float>(sums_)); }

 private:
  std::vector<float> sums_;
  First first_;
  Second second_;
  Operands operands_;
};

template <typename First, typename Second>
std::unique_ptr<Kernel> halves(int64_t sums, First first, Second second) {
  return std::make_unique<HalvesKernel<First, Second>>(sums, std::move(first), std::move(second));
}

KernelPlan make_batch_norm(const std::shared_ptr<Engine>& /*engine*/,
                           const KernelRequest& request) {
  const auto& op = dynamic_cast<const BatchNorm&>(request.op);
  const native::BatchNormShape shape = matrix_of(request.inputs[0]);
  const bool add = op.add;
  const bool relu = op.relu;
  const float epsilon = op.epsilon;
  const float momentum = op.momentum;
  // The running statistics are state: inputs that this kernel alone changes.
  const auto training = [=](const Operands& x) -> native::BatchNormForwardTraining {
    return {x.in(0),
            add ? x.in(5) : nullptr,
            x.in<float>(1),
            x.in<float>(2),
            epsilon,
            momentum,
            relu,
            x.out(0),
            x.out<float>(1),
            x.out<float>(2),
            static_cast<float*>(x.inputs[3]),
            static_cast<float*>(x.inputs[4])};
  };
  const auto inference = [=](const Operands& x) -> native::BatchNormForwardInference {
    return {x.in(0),        add ? x.in(5) : nullptr, x.in<float>(1), x.in<float>(2),
            x.in<float>(3), x.in<float>(4),          epsilon,        relu,
            x.out(0)};
  };
  const bool is_training = op.training;
  KernelPlan plan = native_plan(request, [=](const Operands& x, const Step& /*step*/) {
    is_training ? native::batch_norm_forward_training(shape, training(x), x.scratch)
                : native::batch_norm_forward_inference(shape, inference(x), x.scratch);
  });
  if (op.training && op.synchronised) {
    plan.kernel = halves(
        native::batch_norm_forward_sums(shape.channels),
        [=](const Operands& x, std::span<float> sums) {
          native::batch_norm_forward_first(shape, x.in(0), sums, x.scratch);
        },
        [=](const Operands& x, std::span<const float> sums) {
          native::batch_norm_forward_second(shape, training(x), sums, x.scratch);
        });
  }
  plan.scratch_bytes = static_cast<size_t>(native::batch_norm_scratch_bytes(shape.channels));
  if (add) plan.in_place.emplace_back(0, 5);
  plan.in_place.emplace_back(0, 0);
  return plan;
}

KernelPlan make_batch_norm_backward(const std::shared_ptr<Engine>& /*engine*/,
                                    const KernelRequest& request) {
  const auto& op = dynamic_cast<const BatchNormBackward&>(request.op);
  const native::BatchNormShape shape = matrix_of(request.inputs[0]);
  const bool relu = op.relu;
  const bool add = op.add;
  const auto arguments = [=](const Operands& x) -> native::BatchNormBackward {
    return {x.in(0),
            relu ? x.in(5) : nullptr,
            x.in(4),
            x.in<float>(1),
            x.in<float>(2),
            x.in<float>(3),
            relu,
            x.out(0),
            x.out<float>(1),
            x.out<float>(2),
            add ? x.out(3) : nullptr};
  };
  KernelPlan plan = native_plan(request, [=](const Operands& x, const Step& /*step*/) {
    native::batch_norm_backward(shape, arguments(x), x.scratch);
  });
  if (op.synchronised) {
    plan.kernel = halves(
        native::batch_norm_backward_sums(shape.channels),
        [=](const Operands& x, std::span<float> sums) {
          native::batch_norm_backward_first(shape, arguments(x), sums, x.scratch);
        },
        [=](const Operands& x, std::span<const float> sums) {
          native::batch_norm_backward_second(shape, arguments(x), sums, x.scratch);
        });
  }
  plan.scratch_bytes = static_cast<size_t>(native::batch_norm_scratch_bytes(shape.channels));
  plan.in_place.emplace_back(add ? 3 : 0, 4);
  return plan;
}

}  // namespace

Maker find_norm_maker(std::string_view operation) {
  if (operation == "batch_norm") return make_batch_norm;
  if (operation == "batch_norm.backward") return make_batch_norm_backward;
  return nullptr;
}

}  // namespace syrtos::ops::cpu
