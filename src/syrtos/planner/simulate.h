#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "syrtos/planner/cluster_profile.h"
#include "syrtos/planner/network_graph.h"
#include "syrtos/strategy/compute_times.h"
#include "syrtos/strategy/options.h"
#include "syrtos/strategy/strategy.h"

namespace syrtos::planner {

/// What is to be trained.
struct Workload {
  strategy::ComputeTimes compute;
  int64_t batch = 0;       ///< as --batch says: of each worker, or of all together with split
  int64_t samples = 0;     ///< of an epoch
  int64_t accumulate = 1;  ///< micro-batches of each worker in a step
  /// Computing is slept, not done: it takes no cores and is as fast everywhere (train --replay).
  bool replayed = false;
  /// Where it can be cut; nullptr: only its times are known, and it stays whole.
  std::shared_ptr<const NetworkGraph> network = {};
};

/// One way to distribute it.
struct Candidate {
  int workers = 1;
  strategy::Options options = {};
  int64_t micro_batches = 0;  ///< of each worker in a step; 0: as the job says

  /// Whole copies of the network, of which each takes its part of a step's samples.
  int replicas() const { return options.replicas(workers); }
  int servers() const { return options.exchange.own_servers(); }
  bool same_result_as_alone() const { return options.same_result_as_alone(workers); }
  strategy::Team team() const { return strategy::team_of(options, workers); }
};

/// Micro-batches of each worker in a step.
int64_t accumulate_of(const Workload& workload, const Candidate& candidate);
/// Samples that one worker, or the workers that have a network together, take in a step: the
/// largest share.
int64_t worker_batch(const Workload& workload, const Candidate& candidate);
/// How long that worker computes in a step.
strategy::ComputeTimes::Pass pass_of(const Workload& workload, const Candidate& candidate);
/// Samples that all workers compute at once, and each of them.
int64_t samples_of_all(const Workload& workload, const Candidate& candidate);
std::vector<size_t> worker_samples(const Workload& workload, const Candidate& candidate);
/// The dense layers whose columns the workers divide between them: none without --split columns.
std::vector<strategy::ComputeTimes::Dense> divided_layers(const Workload& workload,
                                                          const Candidate& candidate);
/// Elements of gradients that cross.
double exchanged_elements(const Workload& workload, const Candidate& candidate);
/// Samples that count in a step: gradients of workers that are left out do not.
int64_t step_samples(const Workload& workload, const Candidate& candidate);
int64_t steps_per_epoch(const Workload& workload, const Candidate& candidate);

/// Load, pass and a worker's own updates, of the slowest worker that a step waits for.
double computing_seconds(const Workload& workload, const ClusterProfile& cluster,
                         const Candidate& candidate);

/// What the simulated steps came to, per step, once they follow each other evenly. Seconds.
struct StepCost {
  double seconds = 0;
  double computing = 0;     ///< of the slowest worker: load, pass and update
  double wire_bytes = 0;    ///< of the busiest direction of a host's link
  double wire_seconds = 0;  ///< that these bytes need there at least
  double messages = 0;      ///< of all ranks
};

/// Runs the strategy itself on a simulated cluster, with sizes and times only. Workers, then
/// servers, fill the slots of one host after the other.
StepCost simulate(const Workload& workload, const ClusterProfile& cluster,
                  const Candidate& candidate, uint64_t seed = 1);

/// What simulate() costs, in messages that cross undisturbed: about a million in a second. Flows
/// that share links cost more, since each that ends changes the rates of the others.
double effort_of(const Workload& workload, const ClusterProfile& cluster,
                 const Candidate& candidate);

/// Slots, and hosts, that a candidate needs.
bool fits(const ClusterProfile& cluster, const Candidate& candidate);

/// The link that buckets and algorithms are chosen for, as workers would measure it at start: the
/// slowest of the hosts they are on.
collective::LinkSpeed link_of(const ClusterProfile& cluster, int ranks);

}  // namespace syrtos::planner
