#include "syrtos/onnx/unrolled.h"

#include <array>

#include "syrtos/base/error.h"
#include "syrtos/ops/activation.h"
#include "syrtos/ops/bias.h"
#include "syrtos/ops/composed.h"
#include "syrtos/ops/concat.h"
#include "syrtos/ops/matmul.h"
#include "syrtos/ops/shaping.h"

namespace syrtos::onnx {

namespace {

using ops::BinaryKind;
using ops::ValueId;

/// The operations of a step, on [batch, units] each.
class Steps {
 public:
  Steps(ops::GraphBuilder& graph, ValueId weights, ValueId bias)
      : graph_(graph), units_(graph.type(weights).shape[1]) {
    gate_weights_ = part(weights, 0, 0, 2);
    new_weights_ = part(weights, 0, 2, 3);
    gate_bias_ = part(bias, 0, 0, 2);
    new_bias_ = part(bias, 0, 2, 3);
  }

  /// x [batch, 3 * units]; h is kNone before the first step, when it is 0.
  ValueId next(ValueId x, ValueId h) {
    const ValueId gates = apply(ops::ActivationKind::sigmoid,
                                with_state(part(x, 1, 0, 2), h, gate_weights_, gate_bias_));
    const ValueId z = part(gates, 1, 1, 2);
    const ValueId kept =
        h == ops::kNone ? h : binary(BinaryKind::multiply, part(gates, 1, 0, 1), h);
    const ValueId fresh = apply(ops::ActivationKind::tanh,
                                with_state(part(x, 1, 2, 3), kept, new_weights_, new_bias_));
    if (h == ops::kNone) {
      return binary(BinaryKind::subtract, fresh, binary(BinaryKind::multiply, z, fresh));
    }
    const ValueId change = binary(BinaryKind::subtract, h, fresh);
    return binary(BinaryKind::add, fresh, binary(BinaryKind::multiply, z, change));
  }

 private:
  /// Blocks [begin, end) of `units` along an axis.
  ValueId part(ValueId x, int64_t axis, int64_t begin, int64_t end) {
    const std::array<ops::SliceRange, 1> range{
        {{.axis = axis, .start = begin * units_, .end = end * units_}}};
    return ops::slice(graph_, x, range);
  }
  /// x + h weights^T + bias
  ValueId with_state(ValueId x, ValueId h, ValueId weights, ValueId bias) {
    const auto add_bias = std::make_shared<ops::BiasAdd>();
    if (h == ops::kNone) return graph_.add_one(add_bias, {x, bias});
    auto product = std::make_shared<ops::MatMul>();
    product->transpose_b = true;
    const ValueId u = graph_.add_one(std::move(product), {h, weights});
    return binary(BinaryKind::add, x, graph_.add_one(add_bias, {u, bias}));
  }
  ValueId binary(BinaryKind kind, ValueId a, ValueId b) { return ops::binary(graph_, kind, a, b); }
  ValueId apply(ops::ActivationKind kind, ValueId x) {
    return graph_.add_one(std::make_shared<ops::Activation>(kind), {x});
  }

  ops::GraphBuilder& graph_;
  int64_t units_;
  ValueId gate_weights_, new_weights_, gate_bias_, new_bias_;
};

}  // namespace

ValueId reset_first_gru(ops::GraphBuilder& graph, ValueId projected, ValueId weights, ValueId bias,
                        bool reverse) {
  constexpr int64_t kMostSteps = 512;
  const Shape shape = graph.type(projected).shape;
  if (shape[0] > kMostSteps) {
    fail_request("expected at most {} steps with linear_before_reset 0, found {}: export it with 1",
                 kMostSteps, shape[0]);
  }
  Steps steps(graph, weights, bias);
  std::vector<ValueId> hidden(static_cast<size_t>(shape[0]));
  ValueId h = ops::kNone;
  for (int64_t k = 0; k < shape[0]; ++k) {
    const int64_t step = reverse ? shape[0] - 1 - k : k;
    const std::array<ops::SliceRange, 1> range{{{.axis = 0, .start = step, .end = step + 1}}};
    const ValueId x =
        ops::reshape(graph, ops::slice(graph, projected, range), {shape[1], shape[2]});
    h = steps.next(x, h);
    hidden[static_cast<size_t>(step)] = ops::reshape(graph, h, {1, shape[1], shape[2] / 3});
  }
  if (hidden.size() == 1) return hidden[0];
  auto op = std::make_shared<ops::Concat>();
  op->axis = 0;
  return graph.add(std::move(op), hidden)[0];
}

}  // namespace syrtos::onnx
