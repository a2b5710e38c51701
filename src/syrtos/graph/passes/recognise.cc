// What exporters spell out in single steps becomes the operation that is meant. Each rewriting
// keeps the value that the last step gave; steps in between that others use stay for them.

#include <cmath>
#include <optional>

#include "syrtos/graph/passes.h"
#include "syrtos/graph/passes/rewriter.h"
#include "syrtos/ops/activation.h"
#include "syrtos/ops/arithmetic.h"
#include "syrtos/ops/axis_map.h"
#include "syrtos/ops/binary.h"
#include "syrtos/ops/cast.h"
#include "syrtos/ops/literal.h"
#include "syrtos/ops/pointwise.h"
#include "syrtos/ops/reshape.h"
#include "syrtos/ops/transpose.h"

namespace syrtos::graph {

namespace {

using ops::BinaryKind;
using ops::PointwiseKind;

/// The number that a literal of one element is, before it was rounded to another type.
std::optional<float> number_of(const Rewriter& rewriter, ValueId value) {
  NodeId slot = rewriter.producer(value);
  if (rewriter.op<ops::Cast>(slot) != nullptr) {
    slot = rewriter.producer(rewriter.node(slot)->inputs[0]);
  }
  const auto* literal = rewriter.op<ops::Literal>(slot);
  if (literal == nullptr || literal->value.elements() != 1) return std::nullopt;
  return literal->value.get(0);
}

/// Within what files in bf16 keep of a number.
bool near(float found, double expected) {
  return std::fabs(found - expected) <= 4e-3 * std::fabs(expected);
}

/// The other operand of a node with two, if `known` is one.
ValueId other(const Node& node, ValueId known) {
  return node.inputs[0] == known ? node.inputs[1] : node.inputs[0];
}

bool is_product(const Rewriter& rewriter, NodeId slot) {
  const auto* binary = rewriter.op<ops::Binary>(slot);
  return rewriter.op<ops::Multiply>(slot) != nullptr ||
         (binary != nullptr && binary->kind == BinaryKind::multiply);
}

/// Puts an operation of one value where the last of several steps stood.
void replace(Rewriter& rewriter, NodeId slot, std::shared_ptr<const ops::Op> op, ValueId src) {
  Node node = *rewriter.node(slot);
  node.op = std::move(op);
  node.inputs = {src};
  rewriter.put(slot, std::move(node));
}

/// x * number, number * x, x / number -> scale(x)
void recognise_scale(Rewriter& rewriter, NodeId slot) {
  const auto* binary = rewriter.op<ops::Binary>(slot);
  if (binary == nullptr) return;
  const Node& node = *rewriter.node(slot);
  const TensorType type = rewriter.type(node.outputs[0]);
  for (size_t i = 0; i < 2; ++i) {
    const std::optional<float> number = number_of(rewriter, node.inputs[i]);
    const ValueId src = node.inputs[1 - i];
    if (!number || !(rewriter.type(src) == type)) continue;
    if (binary->kind == BinaryKind::multiply) {
      replace(rewriter, slot, std::make_shared<ops::Scale>(*number), src);
      return;
    }
    if (binary->kind == BinaryKind::divide && i == 1 && *number != 0) {
      replace(rewriter, slot, std::make_shared<ops::Scale>(1 / *number), src);
      return;
    }
  }
}

/// x * sigmoid(x) -> silu(x); x * hard_sigmoid(x) -> hard_swish(x)
void recognise_gated(Rewriter& rewriter, NodeId slot) {
  if (!is_product(rewriter, slot)) return;
  const Node node = *rewriter.node(slot);
  for (const ValueId gate : node.inputs) {
    const NodeId before = rewriter.producer(gate);
    if (before == kNone || rewriter.node(before) == nullptr) continue;
    const ValueId src = other(node, gate);
    if (rewriter.node(before)->inputs != std::vector{src}) continue;
    const auto* activation = rewriter.op<ops::Activation>(before);
    if (activation != nullptr && activation->kind == ops::ActivationKind::sigmoid) {
      replace(rewriter, slot, std::make_shared<ops::Pointwise>(PointwiseKind::silu), src);
      return;
    }
    const auto* hard = rewriter.op<ops::Pointwise>(before);
    if (hard != nullptr && hard->kind == PointwiseKind::hard_sigmoid &&
        near(hard->alpha, 1.0 / 6) && near(hard->beta, 0.5)) {
      replace(rewriter, slot, std::make_shared<ops::Pointwise>(PointwiseKind::hard_swish), src);
      return;
    }
  }
}

/// The source of scale(x) by `factor`; kNone for anything else.
ValueId scaled_by(const Rewriter& rewriter, ValueId value, double factor) {
  const NodeId slot = rewriter.producer(value);
  const auto* scale = rewriter.op<ops::Scale>(slot);
  if (scale == nullptr || !near(scale->factor, factor)) return kNone;
  return rewriter.node(slot)->inputs[0];
}

/// The source of 1 + erf(x / sqrt(2)); kNone for anything else.
ValueId shifted_erf(const Rewriter& rewriter, ValueId value) {
  const NodeId slot = rewriter.producer(value);
  const auto* sum = rewriter.op<ops::Binary>(slot);
  if (sum == nullptr || sum->kind != BinaryKind::add) return kNone;
  for (const ValueId one : rewriter.node(slot)->inputs) {
    const std::optional<float> number = number_of(rewriter, one);
    if (!number || *number != 1) continue;
    const NodeId before = rewriter.producer(other(*rewriter.node(slot), one));
    const auto* erf = rewriter.op<ops::Pointwise>(before);
    if (erf == nullptr || erf->kind != PointwiseKind::erf) continue;
    return scaled_by(rewriter, rewriter.node(before)->inputs[0], std::sqrt(0.5));
  }
  return kNone;
}

/// x * (1 + erf(x / sqrt(2))) / 2, the half anywhere -> exact_gelu(x)
void recognise_gelu(Rewriter& rewriter, NodeId slot) {
  const bool halves = rewriter.op<ops::Scale>(slot) != nullptr;
  if (!halves && !is_product(rewriter, slot)) return;
  const auto gelu = std::make_shared<ops::Pointwise>(PointwiseKind::exact_gelu);
  const auto source_of = [&](NodeId product, bool with_half) {
    if (product == kNone || !is_product(rewriter, product)) return kNone;
    for (const ValueId factor : rewriter.node(product)->inputs) {
      const ValueId src = shifted_erf(rewriter, factor);
      if (src == kNone) continue;
      const ValueId rest = other(*rewriter.node(product), factor);
      if ((with_half ? scaled_by(rewriter, rest, 0.5) : rest) == src) return src;
    }
    return kNone;
  };
  ValueId src = kNone;
  if (halves) {
    const ValueId product = rewriter.node(slot)->inputs[0];
    if (scaled_by(rewriter, rewriter.node(slot)->outputs[0], 0.5) != kNone) {
      src = source_of(rewriter.producer(product), false);
    }
  } else {
    src = source_of(slot, true);
  }
  if (src != kNone) replace(rewriter, slot, gelu, src);
}

/// [N,C,...] -> [N,a,b,...] -> [N,b,a,...] -> [N,C,...] -> a map of the channels
void recognise_shuffle(Rewriter& rewriter, NodeId slot) {
  if (rewriter.op<ops::Reshape>(slot) == nullptr) return;
  const NodeId turning = rewriter.producer(rewriter.node(slot)->inputs[0]);
  const auto* turn = rewriter.op<ops::Transpose>(turning);
  if (turn == nullptr) return;
  const NodeId splitting = rewriter.producer(rewriter.node(turning)->inputs[0]);
  if (rewriter.op<ops::Reshape>(splitting) == nullptr) return;
  const ValueId src = rewriter.node(splitting)->inputs[0];
  const TensorType type = rewriter.type(src);
  const Shape split = rewriter.type(rewriter.node(splitting)->outputs[0]).shape;
  const int rank = type.shape.rank();
  if (rank < 3 || split.rank() != rank + 1 || type.dtype == DType::s32) return;
  if (!(rewriter.type(rewriter.node(slot)->outputs[0]) == type)) return;
  bool shuffles = split[0] == type.shape[0] && split[1] * split[2] == type.shape[1];
  for (int i = 2; i < rank; ++i) shuffles = shuffles && split[i + 1] == type.shape[i];
  for (int i = 0; i < split.rank(); ++i) {
    const int expected = i == 1 ? 2 : (i == 2 ? 1 : i);
    shuffles = shuffles && turn->order[static_cast<size_t>(i)] == expected;
  }
  if (!shuffles) return;
  auto map = std::make_shared<ops::SparseRows>();
  map->columns = type.shape[1];
  for (int64_t b = 0; b < split[2]; ++b) {
    for (int64_t a = 0; a < split[1]; ++a) {
      map->add(a * split[2] + b, 1);
      map->end_row();
    }
  }
  replace(rewriter, slot, std::make_shared<ops::AxisMap>(1, map), src);
}

}  // namespace

void recognise(Graph& graph) {
  Rewriter rewriter(graph);
  for (NodeId slot = 0; slot < rewriter.slots(); ++slot) {
    recognise_scale(rewriter, slot);
    recognise_gated(rewriter, slot);
    recognise_gelu(rewriter, slot);
    recognise_shuffle(rewriter, slot);
  }
  rewriter.commit();
}

}  // namespace syrtos::graph
