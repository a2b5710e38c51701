#pragma once

#include <vector>

#include "syrtos/planner/simulate.h"

namespace syrtos::planner {

/// Where to cut a network for a way that says in how many parts, how many micro-batches and with
/// how many replicas: by dynamic programming over the network's order. A part is as slow as its
/// computing on its host, or as what crosses; of cuts whose slowest part is about as fast those are
/// best over which fewest bytes cross. Every part fits its host, as far as memory is known. The
/// most promising first, at most so many; none where nothing fits.
std::vector<strategy::Split> good_cuts(const Workload& workload, const ClusterProfile& cluster,
                                       const Candidate& way, size_t most);

/// The best of these, and of those that are next to it, by at most so many simulations. The way's
/// own where nothing fits.
strategy::Split best_cut(const Workload& workload, const ClusterProfile& cluster, Candidate way,
                         int simulations);

}  // namespace syrtos::planner
