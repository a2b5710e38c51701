// Operations that only rename elements or change their type, one after the other or before a
// product.

#include "syrtos/graph/passes/fusions.h"
#include "syrtos/ops/cast.h"
#include "syrtos/ops/matmul.h"
#include "syrtos/ops/reduce.h"
#include "syrtos/ops/reshape.h"
#include "syrtos/ops/transpose.h"

namespace syrtos::graph {

namespace {

/// Whether it exchanges the last two axes and nothing else.
bool swaps_last(const std::vector<int>& order) {
  const int rank = static_cast<int>(order.size());
  if (rank < 2) return false;
  for (int i = 0; i < rank - 2; ++i) {
    if (order[static_cast<size_t>(i)] != i) return false;
  }
  return order[static_cast<size_t>(rank - 1)] == rank - 2;
}

/// matmul(transpose(a), b) -> matmul that takes a transposed
void take_transposed(Rewriter& rewriter, NodeId slot) {
  const auto* found = rewriter.op<ops::MatMul>(slot);
  if (found == nullptr) return;
  Node node = *rewriter.node(slot);
  auto op = std::make_shared<ops::MatMul>(*found);
  for (size_t i = 0; i < 2; ++i) {
    const NodeId before = rewriter.producer(node.inputs[i]);
    const auto* transpose = rewriter.op<ops::Transpose>(before);
    if (transpose == nullptr || !swaps_last(transpose->order)) continue;
    node.inputs[i] = rewriter.node(before)->inputs[0];
    bool& flag = i == 0 ? op->transpose_a : op->transpose_b;
    flag = !flag;
    node.op = op;
  }
  if (node.op == op) rewriter.put(slot, std::move(node));
}

/// reshape(reshape(x)) -> reshape(x); transpose(transpose(x)) -> transpose(x)
void join_moves(Rewriter& rewriter, NodeId slot) {
  Node node = *rewriter.node(slot);
  if (node.inputs.size() != 1) return;
  const NodeId before = rewriter.producer(node.inputs[0]);
  if (rewriter.op<ops::Reshape>(slot) != nullptr && rewriter.op<ops::Reshape>(before) != nullptr) {
    node.inputs = rewriter.node(before)->inputs;
    rewriter.put(slot, std::move(node));
    return;
  }
  const auto* outer = rewriter.op<ops::Transpose>(slot);
  const auto* inner = rewriter.op<ops::Transpose>(before);
  if (outer == nullptr || inner == nullptr) return;
  std::vector<int> order;
  for (const int axis : outer->order) order.push_back(inner->order[static_cast<size_t>(axis)]);
  node.op = std::make_shared<ops::Transpose>(order);
  node.inputs = rewriter.node(before)->inputs;
  rewriter.put(slot, std::move(node));
}

/// cast(matmul to f32) to bf16 -> matmul; cast(sum) to f32 -> sum in f32
void join_cast(Rewriter& rewriter, NodeId slot) {
  const auto* cast = rewriter.op<ops::Cast>(slot);
  if (cast == nullptr) return;
  const Node& node = *rewriter.node(slot);
  const NodeId before = rewriter.producer(node.inputs[0]);
  if (before == kNone || !rewriter.used_once(node.inputs[0])) return;
  Node joined = *rewriter.node(before);
  const DType factors =
      rewriter.type(joined.inputs.empty() ? node.inputs[0] : joined.inputs[0]).dtype;
  if (const auto* matmul = rewriter.op<ops::MatMul>(before);
      matmul != nullptr && matmul->f32_output && cast->dtype == factors) {
    auto op = std::make_shared<ops::MatMul>(*matmul);
    op->f32_output = false;
    joined.op = op;
  } else if (const auto* reduce = rewriter.op<ops::Reduce>(before);
             reduce != nullptr && !reduce->f32_output && cast->dtype == DType::f32) {
    auto op = std::make_shared<ops::Reduce>(*reduce);
    op->f32_output = true;
    joined.op = op;
  } else {
    return;
  }
  joined.outputs = node.outputs;
  rewriter.fuse({before, slot}, std::move(joined));
}

}  // namespace

void fold_moves(Rewriter& rewriter, NodeId slot) {
  take_transposed(rewriter, slot);
  join_moves(rewriter, slot);
  join_cast(rewriter, slot);
}

}  // namespace syrtos::graph
