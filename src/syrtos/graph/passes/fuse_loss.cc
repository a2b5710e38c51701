#include <memory>

#include "syrtos/graph/passes/fusions.h"
#include "syrtos/ops/loss.h"
#include "syrtos/ops/softmax.h"

namespace syrtos::graph {

namespace {

/// log_softmax.backward(log_p, cross_entropy.backward(labels, diff_loss)) for this cross-entropy.
NodeId find_backward(const Rewriter& rewriter, ValueId log_p, ValueId labels,
                     const ops::CrossEntropy& forward) {
  for (const NodeId user : rewriter.users(log_p)) {
    const auto* op = rewriter.op<ops::SoftmaxBackward>(user);
    if (op == nullptr || !op->log || rewriter.node(user)->inputs[0] != log_p) continue;
    const NodeId before = rewriter.producer(rewriter.node(user)->inputs[1]);
    const auto* loss = rewriter.op<ops::CrossEntropyBackward>(before);
    if (loss == nullptr || loss->smoothing != forward.smoothing) continue;
    if (loss->class_weights != forward.class_weights) continue;
    if (rewriter.node(before)->inputs[0] == labels) return user;
  }
  return kNone;
}

void fuse_forward(Rewriter& rewriter, NodeId slot, ValueId logits, ValueId probabilities) {
  Node fused = *rewriter.node(slot);
  auto op = std::make_shared<ops::SoftmaxCrossEntropy>();
  op->smoothing = rewriter.op<ops::CrossEntropy>(slot)->smoothing;
  op->class_weights = rewriter.op<ops::CrossEntropy>(slot)->class_weights;
  fused.op = op;
  fused.inputs[0] = logits;
  fused.outputs.push_back(probabilities);
  rewriter.put(slot, std::move(fused));
}

void fuse_backward(Rewriter& rewriter, NodeId slot, ValueId probabilities) {
  Node fused = *rewriter.node(slot);
  const NodeId before = rewriter.producer(fused.inputs[1]);
  auto op = std::make_shared<ops::SoftmaxCrossEntropyBackward>();
  op->smoothing = rewriter.op<ops::CrossEntropyBackward>(before)->smoothing;
  op->class_weights = rewriter.op<ops::CrossEntropyBackward>(before)->class_weights;
  fused.op = op;
  const std::vector<ValueId>& inputs = rewriter.node(before)->inputs;
  fused.inputs = {probabilities, inputs[0], inputs[1]};
  rewriter.put(slot, std::move(fused));
}

}  // namespace

//   log_p = log_softmax(x); loss = cross_entropy(log_p, labels)
//   d = cross_entropy.backward(labels, dloss); dx = log_softmax.backward(log_p, d)
//   ->  loss, p = softmax_cross_entropy(x, labels)
//       dx = softmax_cross_entropy.backward(p, labels, dloss)
// Where others use log_p too, log_softmax stays for them, and the fusion pays only with its
// backward part. What nobody uses any more is pruned afterwards: d may serve several losses.
void fuse_softmax_cross_entropy(Rewriter& rewriter) {
  for (NodeId slot = 0; slot < rewriter.slots(); ++slot) {
    const auto* loss = rewriter.op<ops::CrossEntropy>(slot);
    if (loss == nullptr) continue;
    const ValueId log_p = rewriter.node(slot)->inputs[0];
    const ValueId labels = rewriter.node(slot)->inputs[1];
    const NodeId before = rewriter.producer(log_p);
    const auto* softmax = rewriter.op<ops::Softmax>(before);
    if (softmax == nullptr || !softmax->log) continue;
    const NodeId backward = find_backward(rewriter, log_p, labels, *loss);
    if (backward == kNone && !rewriter.used_once(log_p)) continue;
    const ValueId logits = rewriter.node(before)->inputs[0];
    const ValueId probabilities = rewriter.add_value(rewriter.type(logits));
    fuse_forward(rewriter, slot, logits, probabilities);
    if (backward != kNone) fuse_backward(rewriter, backward, probabilities);
  }
}

}  // namespace syrtos::graph
