#include <memory>

#include "syrtos/graph/passes/fusions.h"
#include "syrtos/ops/bias.h"
#include "syrtos/ops/conv.h"
#include "syrtos/ops/matmul.h"

namespace syrtos::graph {

namespace {

/// A copy of the operation in the slot with its bias switched on; nullptr where it has none.
template <typename OpType>
std::shared_ptr<OpType> with_bias(const Rewriter& rewriter, NodeId slot) {
  const auto* op = rewriter.op<OpType>(slot);
  if (op == nullptr || op->bias) return nullptr;
  auto copy = std::make_shared<OpType>(*op);
  copy->bias = true;
  return copy;
}

std::shared_ptr<const ops::Op> linear_with_bias(const Rewriter& rewriter, NodeId slot) {
  if (const auto* conv = rewriter.op<ops::Conv>(slot); conv != nullptr && !conv->relu) {
    return with_bias<ops::Conv>(rewriter, slot);
  }
  if (const auto* matmul = rewriter.op<ops::MatMul>(slot); matmul != nullptr && !matmul->relu) {
    return with_bias<ops::MatMul>(rewriter, slot);
  }
  return nullptr;
}

}  // namespace

//   t = conv(src, weights); y = bias_add(t, bias)    ->    y = conv+bias(src, weights, bias)
// where nobody else uses t. The backward rules use neither t nor y.
void fuse_bias(Rewriter& rewriter) {
  for (NodeId slot = 0; slot < rewriter.slots(); ++slot) {
    if (rewriter.op<ops::BiasAdd>(slot) == nullptr) continue;
    const Node& bias_add = *rewriter.node(slot);
    const NodeId before = rewriter.producer(bias_add.inputs[0]);
    const auto op = linear_with_bias(rewriter, before);
    if (op == nullptr || !rewriter.used_once(bias_add.inputs[0])) continue;
    Node fused = *rewriter.node(before);
    fused.op = op;
    fused.inputs.push_back(bias_add.inputs[1]);
    fused.outputs = bias_add.outputs;
    rewriter.fuse({before, slot}, std::move(fused));
  }
}

//   b = bias_add.backward(g); w = conv.backward_weights(src, g)
//   ->  w, b = conv.backward_weights+bias(src, g)
void fuse_bias_backward(Rewriter& rewriter) {
  for (NodeId slot = 0; slot < rewriter.slots(); ++slot) {
    auto op = with_bias<ops::ConvBackwardWeights>(rewriter, slot);
    if (op == nullptr) continue;
    Node fused = *rewriter.node(slot);
    fused.op = op;
    for (const NodeId user : std::vector(rewriter.users(fused.inputs[1]))) {
      if (rewriter.op<ops::BiasBackward>(user) == nullptr) continue;
      fused.outputs.push_back(rewriter.node(user)->outputs[0]);
      if (rewriter.fuse({slot, user}, fused)) break;
      fused.outputs.pop_back();
    }
  }
}

}  // namespace syrtos::graph
