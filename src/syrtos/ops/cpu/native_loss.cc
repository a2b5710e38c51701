#include "syrtos/base/error.h"
#include "syrtos/ops/cpu/native_kernel.h"
#include "syrtos/ops/element_loss.h"
#include "syrtos/ops/loss.h"
#include "syrtos/ops/native/elementwise.h"
#include "syrtos/ops/native/losses.h"
#include "syrtos/ops/native/reduction.h"
#include "syrtos/ops/native/softmax_loss.h"
#include "syrtos/ops/softmax.h"

namespace syrtos::ops::cpu {

namespace {

[[noreturn]] void fail_label(const int32_t* labels, int64_t row, int64_t classes) {
  fail_run(
      "label {} of sample {} in the batch is out of range: the network has {} classes, "
      "0 to {}; check the data or --classes",
      labels[row], row, classes, classes - 1);
}

void check_labels(const native::CrossEntropyShape& shape, const int32_t* labels) {
  const int64_t bad = native::find_bad_label(shape, labels);
  if (bad >= 0) fail_label(labels, bad, shape.classes);
}

/// What a kernel needs to know of the labels; it keeps the weights that the shape points to.
struct Labelled {
  native::CrossEntropyShape shape;
  std::shared_ptr<const std::vector<float>> weights;
};

template <typename LossOp>
Labelled labelled(const KernelRequest& request, const TensorType& type) {
  const auto& op = dynamic_cast<const LossOp&>(request.op);
  Labelled result;
  if (!op.class_weights.empty()) {
    result.weights = std::make_shared<const std::vector<float>>(op.class_weights);
  }
  result.shape = {type.shape[0], type.shape[1], op.smoothing,
                  result.weights ? result.weights->data() : nullptr};
  return result;
}

struct Matrix {
  int64_t rows;
  int64_t columns;
};

/// The last axis against all others.
Matrix matrix_of(const Shape& shape) {
  const int64_t columns = shape[shape.rank() - 1];
  return {shape.elements() / columns, columns};
}

KernelPlan make_softmax(const std::shared_ptr<Engine>& /*engine*/, const KernelRequest& request) {
  const bool log = dynamic_cast<const Softmax&>(request.op).log;
  const DType dtype = request.inputs[0].dtype;
  const Matrix m = matrix_of(request.inputs[0].shape);
  KernelPlan plan = plain_plan(request, [=](const Operands& x, const Step& /*step*/) {
    (log ? native::log_softmax : native::softmax)(dtype, m.rows, m.columns, x.in(0), x.out(0));
  });
  plan.in_place = {{0, 0}};
  return plan;
}

KernelPlan make_softmax_backward(const std::shared_ptr<Engine>& /*engine*/,
                                 const KernelRequest& request) {
  const bool log = dynamic_cast<const SoftmaxBackward&>(request.op).log;
  const DType dtype = request.inputs[0].dtype;
  const Matrix m = matrix_of(request.inputs[0].shape);
  KernelPlan plan = plain_plan(request, [=](const Operands& x, const Step& /*step*/) {
    (log ? native::log_softmax_backward : native::softmax_backward)(dtype, m.rows, m.columns,
                                                                    x.in(0), x.in(1), x.out(0));
  });
  plan.in_place = {{0, 1}};
  return plan;
}

KernelPlan make_cross_entropy(const std::shared_ptr<Engine>& /*engine*/,
                              const KernelRequest& request) {
  const TensorType type = request.inputs[0];
  const Labelled kept = labelled<CrossEntropy>(request, type);
  return native_plan(request, [=](const Operands& x, const Step& /*step*/) {
    const auto* labels = x.in<int32_t>(1);
    check_labels(kept.shape, labels);
    *x.out<float>(0) = native::cross_entropy(kept.shape, type.dtype, x.in(0), labels);
  });
}

KernelPlan make_cross_entropy_backward(const std::shared_ptr<Engine>& /*engine*/,
                                       const KernelRequest& request) {
  const TensorType type = request.outputs[0];
  const Labelled kept = labelled<CrossEntropyBackward>(request, type);
  return native_plan(request, [=](const Operands& x, const Step& /*step*/) {
    const auto* labels = x.in<int32_t>(0);
    check_labels(kept.shape, labels);
    const float factor = *x.in<float>(1) / static_cast<float>(kept.shape.rows);
    native::cross_entropy_backward(kept.shape, type.dtype, labels, factor, x.out(0));
  });
}

KernelPlan make_softmax_cross_entropy(const std::shared_ptr<Engine>& /*engine*/,
                                      const KernelRequest& request) {
  const TensorType logits = request.inputs[0];
  const DType probabilities = request.outputs[1].dtype;
  const Labelled kept = labelled<SoftmaxCrossEntropy>(request, logits);
  KernelPlan plan = native_plan(request, [=](const Operands& x, const Step& /*step*/) {
    const auto* labels = x.in<int32_t>(1);
    const int64_t bad = native::softmax_cross_entropy(
        kept.shape, {logits.dtype, x.in(0), labels, probabilities, x.out(1),
                     static_cast<float*>(x.scratch), x.out<float>(0)});
    if (bad >= 0) fail_label(labels, bad, kept.shape.classes);
  });
  plan.scratch_bytes = static_cast<size_t>(kept.shape.rows) * sizeof(float);
  return plan;
}

KernelPlan make_softmax_cross_entropy_backward(const std::shared_ptr<Engine>& /*engine*/,
                                               const KernelRequest& request) {
  const TensorType type = request.outputs[0];
  const DType probabilities = request.inputs[0].dtype;
  const Labelled kept = labelled<SoftmaxCrossEntropyBackward>(request, type);
  return native_plan(request, [=](const Operands& x, const Step& /*step*/) {
    const float factor = *x.in<float>(2) / static_cast<float>(kept.shape.rows);
    const auto* labels = x.in<int32_t>(1);
    const int64_t bad = native::softmax_cross_entropy_backward(
        kept.shape, probabilities, x.in(0), labels, factor, type.dtype, x.out(0));
    if (bad >= 0) fail_label(labels, bad, kept.shape.classes);
  });
}

KernelPlan make_half_squared_error(const std::shared_ptr<Engine>& /*engine*/,
                                   const KernelRequest& request) {
  const TensorType type = request.inputs[0];
  return native_plan(request, [=](const Operands& x, const Step& /*step*/) {
    const double sum =
        native::half_squared_error(type.dtype, type.shape.elements(), x.in(0), x.in(1));
    *x.out<float>(0) = static_cast<float>(sum / static_cast<double>(type.shape[0]));
  });
}

KernelPlan make_half_squared_error_backward(const std::shared_ptr<Engine>& /*engine*/,
                                            const KernelRequest& request) {
  const TensorType type = request.inputs[0];
  return native_plan(request, [=](const Operands& x, const Step& /*step*/) {
    const float factor = *x.in<float>(2) / static_cast<float>(type.shape[0]);
    native::half_squared_error_backward(type.dtype, type.shape.elements(), x.in(0), x.in(1), factor,
                                        x.out(0));
  });
}

KernelPlan make_element_loss(const std::shared_ptr<Engine>& /*engine*/,
                             const KernelRequest& request) {
  const auto& op = dynamic_cast<const ElementLoss&>(request.op);
  const auto kind = static_cast<native::ElementLoss>(op.kind);
  const float delta = op.delta;
  const TensorType type = request.inputs[0];
  return native_plan(request, [=](const Operands& x, const Step& /*step*/) {
    const int64_t n = type.shape.elements();
    const double sum = native::element_loss(kind, delta, type.dtype, n, x.in(0), x.in(1));
    *x.out<float>(0) = static_cast<float>(sum / static_cast<double>(n));
  });
}

KernelPlan make_element_loss_backward(const std::shared_ptr<Engine>& /*engine*/,
                                      const KernelRequest& request) {
  const auto& op = dynamic_cast<const ElementLossBackward&>(request.op);
  const auto kind = static_cast<native::ElementLoss>(op.kind);
  const float delta = op.delta;
  const TensorType type = request.inputs[0];
  return native_plan(request, [=](const Operands& x, const Step& /*step*/) {
    const int64_t n = type.shape.elements();
    native::element_loss_backward(kind, delta, type.dtype, n, x.in(0), x.in(1),
                                  *x.in<float>(2) / static_cast<float>(n), x.out(0));
  });
}

// Weights may lie in any layout: their padding is zero and adds nothing.
KernelPlan make_l2_penalty(const std::shared_ptr<Engine>& /*engine*/,
                           const KernelRequest& request) {
  const float factor = dynamic_cast<const L2Penalty&>(request.op).factor;
  const TensorType type = request.inputs[0];
  Layout layout = request.input_layouts[0];
  if (layout.kind == Layout::Kind::any) layout = Layout::plain();
  const int64_t n = elements_in(type, layout);
  KernelPlan plan = native_plan(request, [=](const Operands& x, const Step& /*step*/) {
    *x.out<float>(0) =
        static_cast<float>(factor / 2.0 * native::sum_of_squares(type.dtype, n, x.in(0)));
  });
  plan.input_layouts[0] = layout;
  return plan;
}

KernelPlan make_l2_penalty_backward(const std::shared_ptr<Engine>& /*engine*/,
                                    const KernelRequest& request) {
  const float factor = dynamic_cast<const L2PenaltyBackward&>(request.op).factor;
  const DType dtype = request.inputs[0].dtype;
  KernelPlan plan = elementwise_plan(request, [](const Operands&, const Step&) {});
  const Layout layout = plan.output_layouts[0];
  const int64_t n = elements_in(request.outputs[0], layout);
  plan = native_plan(request, [=](const Operands& x, const Step& /*step*/) {
    native::convert(dtype, DType::f32, n, x.in(0), x.out(0));
    native::scale(DType::f32, n, x.out(0), factor * *x.in<float>(1), x.out(0));
  });
  plan.input_layouts[0] = layout;
  plan.output_layouts[0] = layout;
  return plan;
}

}  // namespace

Maker find_loss_maker(std::string_view operation) {
  if (operation == "softmax" || operation == "log_softmax") return make_softmax;
  if (operation == "softmax.backward" || operation == "log_softmax.backward") {
    return make_softmax_backward;
  }
  if (operation == "cross_entropy") return make_cross_entropy;
  if (operation == "cross_entropy.backward") return make_cross_entropy_backward;
  if (operation == "softmax_cross_entropy") return make_softmax_cross_entropy;
  if (operation == "softmax_cross_entropy.backward") return make_softmax_cross_entropy_backward;
  if (operation == "half_squared_error") return make_half_squared_error;
  if (operation == "half_squared_error.backward") return make_half_squared_error_backward;
  for (int i = 0; i <= static_cast<int>(ElementLossKind::binary_cross_entropy); ++i) {
    const auto kind = static_cast<ElementLossKind>(i);
    if (operation == ElementLoss(kind).name()) return make_element_loss;
    if (operation == ElementLossBackward(kind, 1).name()) return make_element_loss_backward;
  }
  if (operation == "l2_penalty") return make_l2_penalty;
  if (operation == "l2_penalty.backward") return make_l2_penalty_backward;
  return nullptr;
}

}  // namespace syrtos::ops::cpu
