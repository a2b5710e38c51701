#include <algorithm>
#include <optional>

#include "syrtos/graph/passes.h"
#include "syrtos/graph/passes/fusions.h"
#include "syrtos/graph/passes/rewriter.h"
#include "syrtos/ops/arithmetic.h"
#include "syrtos/ops/cast.h"
#include "syrtos/ops/reduce.h"
#include "syrtos/ops/reshape.h"
#include "syrtos/ops/transpose.h"

namespace syrtos::graph {

namespace {

std::optional<float> constant_value(const Rewriter& rewriter, ValueId value) {
  const auto* constant = rewriter.op<ops::Constant>(rewriter.producer(value));
  if (constant == nullptr) return std::nullopt;
  return constant->value;
}

/// What an operation makes of tensors that are each filled with one value, where that is again such
/// a tensor and we know it.
std::optional<float> result_of(const Rewriter& rewriter, NodeId slot,
                               const std::vector<float>& values) {
  const Node& node = *rewriter.node(slot);
  if (const auto* scale = rewriter.op<ops::Scale>(slot)) return values[0] * scale->factor;
  if (rewriter.op<ops::ScaleBy>(slot) != nullptr) return values[0] * values[1];
  if (rewriter.op<ops::Multiply>(slot) != nullptr) return values[0] * values[1];
  if (rewriter.op<ops::Reshape>(slot) != nullptr) return values[0];
  if (rewriter.op<ops::Cast>(slot) != nullptr) return values[0];
  if (const auto* broadcast = rewriter.op<ops::Broadcast>(slot)) {
    return values[0] * broadcast->factor;
  }
  if (const auto* add = rewriter.op<ops::Add>(slot)) {
    float sum = 0;
    for (const float value : values) sum += value;
    return add->relu ? std::max(sum, 0.0F) : sum;
  }
  if (const auto* reduce = rewriter.op<ops::Reduce>(slot)) {
    const int64_t count = rewriter.type(node.inputs[0]).shape.elements() /
                          rewriter.type(node.outputs[0]).shape.elements();
    return reduce->kind != ops::ReduceKind::sum ? values[0] : values[0] * static_cast<float>(count);
  }
  return std::nullopt;
}

/// op(constants) -> constant
bool fold_node(Rewriter& rewriter, NodeId slot) {
  const Node node = *rewriter.node(slot);
  if (node.inputs.empty()) return false;
  std::vector<float> values;
  for (const ValueId input : node.inputs) {
    const auto value = constant_value(rewriter, input);
    if (!value) return false;
    values.push_back(*value);
  }
  const auto result = result_of(rewriter, slot, values);
  if (!result) return false;
  auto constant = std::make_shared<ops::Constant>();
  constant->type = rewriter.type(node.outputs[0]);
  constant->value = *result;
  rewriter.put(slot, {constant, {}, node.outputs, node.name, node.phase});
  return true;
}

/// add(x, y, zeros) -> add(x, y); add(x, zeros) -> scale(x) by 1, which vanishes next
void drop_zeros(Rewriter& rewriter, NodeId slot) {
  const auto* add = rewriter.op<ops::Add>(slot);
  if (add == nullptr || add->relu) return;
  Node node = *rewriter.node(slot);
  std::erase_if(node.inputs,
                [&](ValueId input) { return constant_value(rewriter, input) == 0.0F; });
  if (node.inputs.empty() || node.inputs.size() == rewriter.node(slot)->inputs.size()) return;
  if (node.inputs.size() == 1) node.op = std::make_shared<ops::Scale>(1.0F);
  rewriter.put(slot, std::move(node));
}

/// scale_by(x, constant) -> scale(x)
void fix_factor(Rewriter& rewriter, NodeId slot) {
  if (rewriter.op<ops::ScaleBy>(slot) == nullptr) return;
  Node node = *rewriter.node(slot);
  const auto factor = constant_value(rewriter, node.inputs[1]);
  if (!factor) return;
  node.op = std::make_shared<ops::Scale>(*factor);
  node.inputs.pop_back();
  rewriter.put(slot, std::move(node));
}

/// scale(scale(x)) -> scale(x) by the product
void join_scales(Rewriter& rewriter, NodeId slot) {
  const auto* outer = rewriter.op<ops::Scale>(slot);
  if (outer == nullptr) return;
  Node node = *rewriter.node(slot);
  const NodeId before = rewriter.producer(node.inputs[0]);
  const auto* inner = rewriter.op<ops::Scale>(before);
  if (inner == nullptr) return;
  node.op = std::make_shared<ops::Scale>(outer->factor * inner->factor);
  node.inputs = rewriter.node(before)->inputs;
  rewriter.put(slot, std::move(node));
}

bool keeps_order(const ops::Transpose* op) {
  return op != nullptr && std::is_sorted(op->order.begin(), op->order.end());
}

/// scale by 1, reshape to the same shape, cast to the same type, axes in their order -> nothing
void drop_identity(Rewriter& rewriter, NodeId slot) {
  const Node& node = *rewriter.node(slot);
  const auto* scale = rewriter.op<ops::Scale>(slot);
  const bool moves_only =
      rewriter.op<ops::Reshape>(slot) != nullptr || rewriter.op<ops::Cast>(slot) != nullptr ||
      keeps_order(rewriter.op<ops::Transpose>(slot)) || (scale != nullptr && scale->factor == 1.0F);
  if (!moves_only) return;
  const ValueId src = node.inputs[0];
  const ValueId dst = node.outputs[0];
  if (!(rewriter.type(src) == rewriter.type(dst))) return;
  // What leaves the graph must be computed, and each gradient has a value of its own.
  const auto leaves = [&](ValueId v) { return rewriter.is_output(v) || rewriter.is_gradient(v); };
  if (leaves(dst) && (rewriter.producer(src) == kNone || leaves(src))) return;
  rewriter.replace_value(dst, src);
  rewriter.remove(slot);
}

}  // namespace

void fold_constants(Graph& graph) {
  Rewriter rewriter(graph);
  for (NodeId slot = 0; slot < rewriter.slots(); ++slot) {
    if (rewriter.node(slot) == nullptr) continue;
    if (fold_node(rewriter, slot) || fold_literals(rewriter, slot)) continue;
    fold_moves(rewriter, slot);
    if (rewriter.node(slot) == nullptr) continue;
    drop_zeros(rewriter, slot);
    fix_factor(rewriter, slot);
    join_scales(rewriter, slot);
    drop_identity(rewriter, slot);
  }
  rewriter.commit();
}

}  // namespace syrtos::graph
