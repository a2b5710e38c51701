#pragma once

#include <optional>
#include <vector>

#include "syrtos/planner/candidates.h"

namespace syrtos::planner {

/// With so many workers the ways in which each has a part of the network: how many parts and
/// replicas, how many micro-batches, in which order, and cut where it is best for that. Few of
/// each; none where it is not known how the network can be cut.
std::vector<Candidate> part_candidates(const SearchSpace& space, const ClusterProfile& cluster,
                                       const Workload& workload, int workers);

/// Whether a plan may cut the network into parts.
bool may_cut(const SearchSpace& space, const Workload& workload);
/// And the plan finds out where.
bool may_move_cuts(const SearchSpace& space);

/// The bytes that the largest of the parts needs at least, in whatever way a plan may cut the
/// network, and the way; nothing where it may not.
struct LeastMemory {
  Candidate way = {};
  double bytes = 0;
};
std::optional<LeastMemory> least_memory_in_parts(const SearchSpace& space, ClusterProfile cluster,
                                                 const Workload& workload);

}  // namespace syrtos::planner
