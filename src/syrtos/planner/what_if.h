#pragma once

#include <vector>

#include "syrtos/planner/plan.h"

namespace syrtos::planner {

/// What would help: the same search over the ways that came out best in `plan`, in another cluster
/// or with another job. The largest gain first.
std::vector<WhatIf> what_ifs(const Workload& workload, const ClusterProfile& cluster,
                             const PlanOptions& options, const Plan& plan);

}  // namespace syrtos::planner
