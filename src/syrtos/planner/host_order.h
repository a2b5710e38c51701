#pragma once

#include "syrtos/planner/simulate.h"

namespace syrtos::planner {

/// The same hosts, the best for this workload first: plans for N workers use the first ones. Hosts
/// that are alike stay in their order; those whose memory is too small for it come last.
ClusterProfile best_first(const Workload& workload, ClusterProfile cluster);

}  // namespace syrtos::planner
