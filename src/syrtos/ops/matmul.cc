#include "syrtos/ops/matmul.h"

#include "syrtos/base/error.h"
#include "syrtos/ops/binary.h"
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

/// The axes before the last two.
Shape batch_of(const Shape& shape) {
  return Shape(std::span<const int64_t>(shape.begin(), shape.end() - 2));
}

/// Rows and columns as the product sees them.
int64_t rows_of(const Shape& shape, bool transposed) {
  return shape[shape.rank() - (transposed ? 1 : 2)];
}
int64_t columns_of(const Shape& shape, bool transposed) {
  return shape[shape.rank() - (transposed ? 2 : 1)];
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
  if (a.shape.rank() < 2 || b.shape.rank() < 2) {
    fail_shape(*this, fmt::format("expected a [..., M, K] and b [..., K, N], found {} and {}",
                                  to_string(a), to_string(b)));
  }
  const int64_t inner_a = columns_of(a.shape, transpose_a);
  const int64_t inner_b = rows_of(b.shape, transpose_b);
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
  TensorType dst{dtype, broadcast_shape(*this, batch_of(a.shape), batch_of(b.shape))};
  dst.shape.append(rows_of(a.shape, transpose_a));
  dst.shape.append(columns_of(b.shape, transpose_b));
  if (bias) {
    require_rank(*this, dst, 2, "dst");
    require_type(*this, inputs[2], {DType::f32, {dst.shape[1]}}, "bias");
  }
  return {dst};
}

// With C = A B: dA = dC B^T and dB = A^T dC; a transposed factor gets the transposed product. b is
// the factor that may be a parameter, and those take their gradients in f32; so its product comes
// first: it may travel while the other is computed. f32 logits of bf16 factors bring a gradient in
// f32, which is rounded to the factors' type. Over axes that were broadcast gradients are summed
// up.
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
  const Shape shape_a = graph.type(a).shape;
  const Shape shape_b = graph.type(b).shape;
  return {sum_to(graph, diff_a, shape_a), sum_to(graph, diff_b, shape_b)};
}

double MatMul::flops(std::span<const TensorType> inputs,
                     std::span<const TensorType> outputs) const {
  return 2.0 * static_cast<double>(outputs[0].shape.elements()) *
         static_cast<double>(columns_of(inputs[0].shape, transpose_a));
}

}  // namespace syrtos::ops
