// Matrix products.
#include "syrtos/onnx/importer.h"
#include "syrtos/ops/bias.h"
#include "syrtos/ops/composed.h"
#include "syrtos/ops/matmul.h"
#include "syrtos/ops/shaping.h"

namespace syrtos::onnx {
namespace {

/// alpha * op(A) * op(B) + beta * C
void gemm(const Call& call) {
  const ops::GemmOptions options{.alpha = call.number("alpha", 1),
                                 .beta = call.number("beta", 1),
                                 .transpose_a = call.integer("transA", 0) != 0,
                                 .transpose_b = call.integer("transB", 0) != 0};
  const Shape a = call.shape(0);
  const Shape b = call.shape(1);
  if (a.rank() != 2 || b.rank() != 2 ||
      a[options.transpose_a ? 0 : 1] != b[options.transpose_b ? 1 : 0]) {
    call.fail("expected matrices that fit, found {}{} and {}{}: were the images of another size?",
              to_string(a), options.transpose_a ? " transposed" : "", to_string(b),
              options.transpose_b ? " transposed" : "");
  }
  const ValueId x = call.computed(0);
  const ValueId kernel =
      call.computed(1, options.transpose_b ? Role::dense_kernel : Role::transposed);
  const int64_t columns = b[options.transpose_b ? 0 : 1];
  const bool is_layer =
      options.alpha == 1 && options.beta == 1 && call.has(2) && call.shape(2) == Shape{columns};
  if (!is_layer) {
    const ValueId c = call.has(2) ? call.computed(2, Role::bias) : graph::kNone;
    return call.result(ops::gemm(call.graph(), x, kernel, c, options));
  }
  auto op = std::make_shared<ops::MatMul>();
  op->transpose_a = options.transpose_a;
  op->transpose_b = options.transpose_b;
  op->f32_output = call.node().inputs[1] == call.changes().head;
  const ValueId product = call.add(std::move(op), {x, kernel});
  call.result(call.add(std::make_shared<ops::BiasAdd>(), {product, call.tensor(2, Role::bias)}));
}

void matmul(const Call& call) {
  const Shape a = call.shape(0);
  const Shape b = call.shape(1);
  const bool fits =
      a.rank() > 0 && b.rank() > 0 && a[a.rank() - 1] == b[b.rank() > 1 ? b.rank() - 2 : 0];
  if (!fits) {
    call.fail("expected factors that fit, found {} and {}: were the images of another size?",
              to_string(a), to_string(b));
  }
  const Role role = b.rank() == 2 ? Role::transposed : Role::other;
  const ValueId x =
      call.computed(0, a.rank() == 2 && call.is_weight(0) ? Role::transposed : Role::other);
  const ValueId y = call.computed(1, role);
  if (a.rank() <= 2 || b.rank() != 2) return call.result(ops::matmul(call.graph(), x, y));
  // A matrix on the right is one dense layer over all rows of whatever is on the left.
  const int64_t inner = a[a.rank() - 1];
  const ValueId rows = ops::reshape(call.graph(), x, {a.elements() / inner, inner});
  Shape shape = a;
  shape[a.rank() - 1] = b[1];
  call.result(ops::reshape(call.graph(), ops::matmul(call.graph(), rows, y), shape));
}

}  // namespace

const Rules& dense_rules() {
  static const Rules rules = {{"Gemm", gemm}, {"MatMul", matmul}};
  return rules;
}

}  // namespace syrtos::onnx
