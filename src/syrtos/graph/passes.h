#pragma once

#include "syrtos/graph/graph.h"

namespace syrtos::graph {

// Each pass takes a graph in a valid order and leaves one: what the outputs and the gradients mean
// does not change.

/// Finds what exporters of other formats spell out in single steps (gelu, silu, hard swish, scaling
/// by a number, channel shuffles) and replaces it by the operation that is meant, whose kernels are
/// faster. Before add_gradients(); what nobody needs any more is for prune().
void recognise(Graph& graph);

/// Drops the nodes that no output and no gradient needs.
void prune(Graph& graph);
/// Those that it would keep, by node.
std::vector<bool> needed_nodes(const Graph& graph);

/// Computes equal operations on equal inputs once. Gradients of different parameters stay apart
/// even when they are equal: each has its own memory.
void eliminate_common_subexpressions(Graph& graph);

/// Computes what depends on constants only; drops operations that change nothing (scaling by 1,
/// adding zeros, reshaping to the same shape) and joins successive scalings, reshapes and
/// transpositions; products take what is transposed as it is.
void fold_constants(Graph& graph);

/// Joins operations that a kernel computes in one sweep over memory: convolution or matmul with
/// bias (also where rows were reshaped in between) and ReLU; batch norm with addition and ReLU;
/// addition with ReLU; log-softmax with cross-entropy; and their backward parts. To be run after
/// add_gradients().
void fuse(Graph& graph);

/// All of them, in the order in which they help each other.
void optimise(Graph& graph);

}  // namespace syrtos::graph
