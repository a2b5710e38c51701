#pragma once

#include "syrtos/graph/passes/rewriter.h"

namespace syrtos::graph {

// The single fusions, in the order in which fuse() applies them.

/// conv or matmul, then bias_add -> one node.
void fuse_bias(Rewriter& rewriter);
/// matmul, perhaps reshape, then an addition of one number for each column -> matmul with bias.
void fuse_row_bias(Rewriter& rewriter);
/// conv.backward_weights(src, g) and bias_add.backward(g) -> one node.
void fuse_bias_backward(Rewriter& rewriter);
/// batch_norm, then add (the other operand is the residual) and relu -> one node.
void fuse_norm_add_relu(Rewriter& rewriter);
/// conv, matmul, batch_norm or add, then relu -> one node.
void fuse_relu(Rewriter& rewriter);
/// relu.backward, then batch_norm.backward -> one node.
void fuse_norm_relu_backward(Rewriter& rewriter);
/// log_softmax and cross_entropy, and their backward operations -> one node each.
void fuse_softmax_cross_entropy(Rewriter& rewriter);

/// For fold_constants(), one node at a time. True where the node has become a literal.
bool fold_literals(Rewriter& rewriter, NodeId slot);
void fold_moves(Rewriter& rewriter, NodeId slot);

}  // namespace syrtos::graph
