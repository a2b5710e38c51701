#include "syrtos/graph/passes.h"
#include "syrtos/graph/passes/fusions.h"

namespace syrtos::graph {

void fuse(Graph& graph) {
  Rewriter rewriter(graph);
  fuse_bias(rewriter);
  fuse_row_bias(rewriter);
  fuse_bias_backward(rewriter);
  fuse_norm_add_relu(rewriter);  // before fuse_relu, which would take the addition alone
  fuse_relu(rewriter);
  fuse_norm_relu_backward(rewriter);
  fuse_softmax_cross_entropy(rewriter);
  rewriter.commit();
}

void optimise(Graph& graph) {
  prune(graph);
  eliminate_common_subexpressions(graph);
  fold_constants(graph);
  fuse(graph);
  prune(graph);
}

}  // namespace syrtos::graph
