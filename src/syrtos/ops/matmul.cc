#include "syrtos/ops/matmul.h"

#include "syrtos/base/error.h"
#include "syrtos/ops/cast.h"

namespace syrtos::ops {

namespace {

std::shared_ptr<MatMul> product(bool transpose_a, bool transpose_b, bool f32_output) {
  auto op = std::make_shared<MatMul>();
  op->transpose_a = transpose_a;
  op->transpose_b = transpose_b;
  op->f32_output = f32_output;
  return op;
}

}  // namespace

std::string MatMul::attributes() const {
  std::string text = std::string(transpose_a ? "a^T" : "a") + (transpose_b ? " b^T" : " b");
  if (f32_output) text += " f32";
  if (bias) text += " +bias";
  if (relu) text += " +relu";
  return text;
}

std::vector<TensorType> MatMul::infer(std::span<const TensorType> inputs) const {
  require_inputs(*this, inputs, bias ? 3 : 2);
  const TensorType& a = inputs[0];
  const TensorType& b = inputs[1];
  require_float(*this, a, "a");
  require_float(*this, b, "b");
  require_rank(*this, a, 2, "a");
  require_rank(*this, b, 2, "b");
  const int64_t inner_a = a.shape[transpose_a ? 0 : 1];
  const int64_t inner_b = b.shape[transpose_b ? 1 : 0];
  if (inner_a != inner_b) {
    fail_shape(*this, fmt::format("a {}{} has {} columns, b {}{} expects {}", to_string(a),
                                  transpose_a ? "^T" : "", inner_a, to_string(b),
                                  transpose_b ? "^T" : "", inner_b));
  }
  if (a.dtype != b.dtype) {
    fail_shape(*this, fmt::format("factors must have one type, found a {} and b {}", to_string(a),
                                  to_string(b)));
  }
  const DType dtype = f32_output ? DType::f32 : a.dtype;
  const TensorType dst{dtype, {a.shape[transpose_a ? 1 : 0], b.shape[transpose_b ? 0 : 1]}};
  if (bias) require_type(*this, inputs[2], {DType::f32, {dst.shape[1]}}, "bias");
  return {dst};
}

// With C = A B: dA = dC B^T and dB = A^T dC; a transposed factor gets the transposed product. b is
// the factor that may be a parameter, and those take their gradients in f32; so its product comes
// first: it may travel while the other is computed. f32 logits of bf16 factors bring a gradient in
// f32, which is rounded to the factors' type.
std::vector<ValueId> MatMul::gradient(GraphBuilder& graph, std::span<const ValueId> inputs,
                                      std::span<const ValueId> /*outputs*/,
                                      std::span<const ValueId> output_gradients) const {
  SYRTOS_CHECK(!bias && !relu, "gradients are added before fusion");
  const ValueId a = inputs[0];
  const ValueId b = inputs[1];
  const DType factors = graph.type(a).dtype;
  ValueId diff_dst = output_gradients[0];
  if (graph.type(diff_dst).dtype != factors) {
    diff_dst = graph.add_one(std::make_shared<Cast>(factors), {diff_dst});
  }
  const ValueId diff_b = transpose_b
                             ? graph.add_one(product(true, transpose_a, true), {diff_dst, a})
                             : graph.add_one(product(!transpose_a, false, true), {a, diff_dst});
  const ValueId diff_a = transpose_a
                             ? graph.add_one(product(transpose_b, true, false), {b, diff_dst})
                             : graph.add_one(product(false, !transpose_b, false), {diff_dst, b});
  return {diff_a, diff_b};
}

double MatMul::flops(std::span<const TensorType> inputs,
                     std::span<const TensorType> outputs) const {
  return 2.0 * static_cast<double>(outputs[0].shape.elements()) *
         static_cast<double>(inputs[0].shape[transpose_a ? 0 : 1]);
}

}  // namespace syrtos::ops
