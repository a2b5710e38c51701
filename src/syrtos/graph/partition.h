#pragma once

#include <span>
#include <vector>

#include "syrtos/graph/graph.h"

namespace syrtos::graph {

/// Cuts a graph into one graph for each part: part_of[n] is the part of node n, from 0. Where a
/// node uses a value of another part, a Send stands behind whoever computes it and a Receive before
/// its first user there (ops/part_exchange.h). A value goes once to each part that needs it. Values
/// between one pair of parts cross together where the sender waits for nobody between the first and
/// the last of them, and all are forward or all backward.
///
/// All parts together compute what the whole does, operation for operation: each runs its nodes in
/// their order, and whatever the parts are, nobody waits for ever. What nobody needs is left out;
/// what depends on nothing, such as constants, is where it is used. Inputs, outputs, gradients,
/// parameters and states are in the parts that have to do with them. Throws RequestError where two
/// parts use the same parameter or state.
std::vector<Graph> partition(const Graph& graph, std::span<const int> part_of, int parts);

/// The part of each node of a graph with gradients, which are where the node is that they came
/// from: `origins` as add_gradients() returned them, `part_of` for the nodes before it.
std::vector<int> with_gradients(std::span<const int> part_of, std::span<const NodeId> origins);

}  // namespace syrtos::graph
