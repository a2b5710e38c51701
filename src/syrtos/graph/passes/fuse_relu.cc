#include <memory>

#include "syrtos/graph/passes/fusions.h"
#include "syrtos/ops/activation.h"
#include "syrtos/ops/arithmetic.h"
#include "syrtos/ops/batch_norm.h"
#include "syrtos/ops/conv.h"
#include "syrtos/ops/matmul.h"

namespace syrtos::graph {

namespace {

using ops::ActivationKind;

bool is_relu(const Rewriter& rewriter, NodeId slot) {
  const auto* op = rewriter.op<ops::Activation>(slot);
  return op != nullptr && op->kind == ActivationKind::relu;
}

bool is_relu_backward(const Rewriter& rewriter, NodeId slot) {
  const auto* op = rewriter.op<ops::ActivationBackward>(slot);
  return op != nullptr && op->kind == ActivationKind::relu;
}

template <typename OpType>
std::shared_ptr<const ops::Op> with_relu(const Rewriter& rewriter, NodeId slot) {
  const auto* op = rewriter.op<OpType>(slot);
  if (op == nullptr || op->relu) return nullptr;
  auto copy = std::make_shared<OpType>(*op);
  copy->relu = true;
  return copy;
}

/// A batch norm whose result goes nowhere but into one addition.
bool can_take_residual(const Rewriter& rewriter, ValueId value) {
  const auto* norm = rewriter.op<ops::BatchNorm>(rewriter.producer(value));
  if (norm == nullptr || norm->relu || norm->add || !rewriter.used_once(value)) return false;
  return rewriter.node(rewriter.producer(value))->outputs[0] == value;
}

void fuse_addition(Rewriter& rewriter, NodeId norm, NodeId add, NodeId relu, ValueId residual) {
  auto op = std::make_shared<ops::BatchNorm>(*rewriter.op<ops::BatchNorm>(norm));
  op->add = true;
  op->relu = true;
  Node fused = *rewriter.node(norm);
  fused.op = op;
  fused.inputs.push_back(residual);
  fused.outputs[0] = rewriter.node(relu)->outputs[0];
  rewriter.fuse({norm, add, relu}, std::move(fused));
}

/// Among the users of the masked gradient, the backward node of this batch norm.
NodeId find_norm_backward(const Rewriter& rewriter, ValueId masked, const Node& norm) {
  for (const NodeId user : rewriter.users(masked)) {
    const auto* op = rewriter.op<ops::BatchNormBackward>(user);
    if (op == nullptr || op->relu || op->add) continue;
    const std::vector<ValueId>& inputs = rewriter.node(user)->inputs;
    if (inputs[0] == norm.inputs[0] && inputs[2] == norm.outputs[1] && inputs[4] == masked) {
      return user;
    }
  }
  return kNone;
}

}  // namespace

//   t = conv(...); y = relu(t)    ->    y = conv+relu(...)
// where nobody else uses t; the same for matmul, batch_norm and add. relu.backward needs y only.
void fuse_relu(Rewriter& rewriter) {
  for (NodeId slot = 0; slot < rewriter.slots(); ++slot) {
    if (!is_relu(rewriter, slot)) continue;
    const ValueId src = rewriter.node(slot)->inputs[0];
    const NodeId before = rewriter.producer(src);
    std::shared_ptr<const ops::Op> op = with_relu<ops::Conv>(rewriter, before);
    if (op == nullptr) op = with_relu<ops::MatMul>(rewriter, before);
    if (op == nullptr) op = with_relu<ops::BatchNorm>(rewriter, before);
    if (op == nullptr) op = with_relu<ops::Add>(rewriter, before);
    if (op == nullptr || !rewriter.used_once(src)) continue;
    Node fused = *rewriter.node(before);
    fused.op = op;
    fused.outputs[0] = rewriter.node(slot)->outputs[0];
    rewriter.fuse({before, slot}, std::move(fused));
  }
}

//   t = batch_norm(...); s = add(t, residual); y = relu(s)
//   ->  y = batch_norm+add+relu(..., residual)
// where nobody else uses t and s. Of two batch norms (a block that reduces the image) the later one
// takes the other's result.
void fuse_norm_add_relu(Rewriter& rewriter) {
  for (NodeId slot = 0; slot < rewriter.slots(); ++slot) {
    if (!is_relu(rewriter, slot)) continue;
    const ValueId sum = rewriter.node(slot)->inputs[0];
    const NodeId add = rewriter.producer(sum);
    if (rewriter.op<ops::Add>(add) == nullptr || !rewriter.used_once(sum)) continue;
    const std::vector<ValueId> terms = rewriter.node(add)->inputs;
    if (terms.size() != 2 || rewriter.op<ops::Add>(add)->relu) continue;
    ValueId chosen = kNone;
    for (const ValueId term : terms) {
      if (!can_take_residual(rewriter, term)) continue;
      if (chosen == kNone || rewriter.producer(term) > rewriter.producer(chosen)) chosen = term;
    }
    if (chosen == kNone) continue;
    const ValueId residual = chosen == terms[0] ? terms[1] : terms[0];
    fuse_addition(rewriter, rewriter.producer(chosen), add, slot, residual);
  }
}

//   m = relu.backward(y, g); dx, dgamma, dbeta = batch_norm.backward(..., m)
//   ->  dx, dgamma, dbeta = batch_norm.backward+relu(..., g, y)
// where y is the result of that batch norm with its fused ReLU. With a residual, m is also the
// gradient of the residual: the fused node gives it as a fourth output.
void fuse_norm_relu_backward(Rewriter& rewriter) {
  for (NodeId slot = 0; slot < rewriter.slots(); ++slot) {
    if (!is_relu_backward(rewriter, slot)) continue;
    const ValueId dst = rewriter.node(slot)->inputs[0];
    const ValueId diff_dst = rewriter.node(slot)->inputs[1];
    const ValueId masked = rewriter.node(slot)->outputs[0];
    const NodeId norm = rewriter.producer(dst);
    const auto* norm_op = rewriter.op<ops::BatchNorm>(norm);
    if (norm_op == nullptr || !norm_op->relu || !norm_op->training) continue;
    const NodeId backward = find_norm_backward(rewriter, masked, *rewriter.node(norm));
    if (backward == kNone) continue;
    auto op =
        std::make_shared<ops::BatchNormBackward>(*rewriter.op<ops::BatchNormBackward>(backward));
    op->relu = true;
    op->add = !rewriter.used_once(masked);
    Node fused = *rewriter.node(backward);
    fused.op = op;
    fused.inputs[4] = diff_dst;
    fused.inputs.push_back(dst);
    if (op->add) fused.outputs.push_back(masked);
    rewriter.fuse({slot, backward}, std::move(fused));
  }
}

}  // namespace syrtos::graph
