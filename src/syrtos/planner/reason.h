#pragma once

#include <string>

#include "syrtos/planner/candidates.h"

namespace syrtos::planner {

/// Seconds of a step.
struct ErrorBar {
  double low_s = 0;
  double high_s = 0;
};

/// How long a step takes if everything is a little better, or worse, than it was measured and
/// simulated: bandwidth and latency by the cluster's spread, computing by its jitter, and both by
/// what simulations were found to be off by. The truth is meant to lie inside in nine cases of ten.
ErrorBar error_bar(const Workload& workload, const ClusterProfile& cluster,
                   const Candidate& candidate);

/// The same without simulating: every part of the step varies by itself.
ErrorBar plain_error_bar(const Workload& workload, const ClusterProfile& cluster,
                         const Candidate& candidate, const StepCost& step);

/// What a step's time comes from, in one line: found by taking one thing away at a time and
/// simulating again, three times, or, when not `thoroughly`, by the larger part.
std::string reason_of(const Workload& workload, const ClusterProfile& cluster,
                      const Candidate& candidate, const StepCost& step, bool thoroughly);

/// Hosts that have a rank of it.
int hosts_of(const ClusterProfile& cluster, const Candidate& candidate);

}  // namespace syrtos::planner
