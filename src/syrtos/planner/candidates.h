#pragma once

#include <string>
#include <vector>

#include "syrtos/planner/simulate.h"

namespace syrtos::planner {

/// What a plan may choose from. Empty: whatever makes sense.
struct SearchSpace {
  std::vector<int> workers = {};
  std::vector<strategy::Exchange> exchanges = {};
  std::vector<strategy::Sync> syncs = {};
  std::vector<strategy::Wire> wires = {};
  /// "layers:N" for so many parts, "auto" for any, cut where it is best; "branches" and names of
  /// layers for these parts as they are.
  std::vector<strategy::Split> splits = {};
  std::vector<strategy::Pipeline> pipelines = {};
  double bucket_mb = 0;  ///< 0: chosen from latency and bandwidth
};

/// Every combination that makes sense and fits on the cluster; training alone is not among them.
std::vector<Candidate> candidates(const SearchSpace& space, const ClusterProfile& cluster,
                                  const Workload& workload);

/// "allreduce:ring split", "ps async bf16".
std::string way_of(const Candidate& candidate);
/// What the result is compared with training alone: "same result", "batch x 4", "stale gradients".
std::string effect_of(const Candidate& candidate);

/// What that may cost, in words; empty: nothing.
std::string risk_of(const Workload& workload, const Candidate& candidate);
/// The result of training alone is kept, but for what was asked for: a space without split or f32
/// asks for another result.
bool keeps_result(const SearchSpace& space, const Candidate& candidate);

/// No strategy is faster: the computing of a step, or the bytes that its busiest link carries.
double bound_seconds(const Workload& workload, const ClusterProfile& cluster,
                     const Candidate& candidate);

/// Bytes that the largest rank needs: at least weights, gradients and one state of the optimiser,
/// where a pass's own memory is not known.
double memory_of(const Workload& workload, const Candidate& candidate);
/// Every host has as much as its ranks need, as far as it is known.
bool fits_in_memory(const Workload& workload, const ClusterProfile& cluster,
                    const Candidate& candidate);

}  // namespace syrtos::planner
