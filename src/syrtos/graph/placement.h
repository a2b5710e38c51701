#pragma once

#include <span>
#include <string>
#include <vector>

#include "syrtos/graph/graph.h"

namespace syrtos::graph {

// Ways to cut a network into pieces, as pure functions of its graph without gradients. Cuts are
// named by layers, so that what was found for one graph of a network means the same for the others:
// with another batch, or without what only training needs.

/// From this layer on, in the order of the nodes, the network belongs to this piece.
struct PieceMark {
  std::string layer;
  int piece = 0;

  auto operator<=>(const PieceMark&) const = default;  // NOLINT(modernize-use-nullptr): clang's 0
};

struct Placement {
  int pieces = 1;
  std::vector<PieceMark> marks = {};  ///< what comes before the first belongs to piece 0

  auto operator<=>(const Placement&) const = default;  // NOLINT(modernize-use-nullptr): clang's 0
};

/// A layer with weights and all that follows it up to the next one: what a cut does not divide.
struct Unit {
  std::string layer;  ///< of the first: where the network begins, "" if that has no weights
  NodeId first = 0;   ///< node
  NodeId last = 0;    ///< one after
  double work = 0;    ///< of forward and backward, in multiplications and the like
  /// Whether a piece can begin here: not between two layers that have a weight in common.
  bool can_begin = true;
};
std::vector<Unit> units_of(const Graph& graph);

/// Consecutive pieces of about equal work. Throws RequestError when there are fewer units.
Placement place_consecutively(const Graph& graph, int pieces);

/// A piece for each branch: of the joins of the network those count that bring most work together
/// that could be done side by side. What comes before them is with the first branch, what follows
/// them a piece of its own, or with the last branch if it is little. Throws RequestError when there
/// are no branches worth a piece.
Placement place_branches(const Graph& graph);

/// Pieces that begin with these layers: "conv3", or all of "layer3"; or with "conv3=2" where each
/// says which piece it belongs to, from 1. Throws RequestError for a layer that is unknown or named
/// twice, and for a piece without layers.
Placement place_by_names(const Graph& graph, std::span<const std::string> names);

/// The piece of each node. Nodes without weights are where fewest bytes cross.
std::vector<int> pieces_of(const Graph& graph, const Placement& placement);

/// For each piece those that it gets values from in the forward pass.
std::vector<std::vector<int>> needs_of_pieces(const Graph& graph, std::span<const int> piece_of,
                                              int pieces);

/// For people: "conv1 to conv2, conv3 to fc1, fc2".
std::string layers_text(const Graph& graph, const Placement& placement);

}  // namespace syrtos::graph
