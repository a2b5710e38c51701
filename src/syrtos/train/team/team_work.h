#pragma once

#include <memory>
#include <string>
#include <vector>

#include "syrtos/job/job.h"
#include "syrtos/strategy/clocks.h"
#include "syrtos/strategy/meeting.h"
#include "syrtos/strategy/step_sums.h"
#include "syrtos/strategy/strategy.h"
#include "syrtos/train/network/learner.h"
#include "syrtos/train/network/replica.h"
#include "syrtos/train/team/part_tensors.h"

namespace syrtos::train {

using job::Job;
using strategy::Clocks;
using strategy::Meter;
using strategy::WorldClock;
using trace::Part;
using world::Task;
using world::World;

/// Ranks of a job: workers, and servers of their own.
strategy::Team team_of(const Job& job);

/// The job's strategy with the links between its workers, measured where that matters.
Task<strategy::Options> measure_links(World& world, const Job& job);

/// How a worker trains together with the others: its replica, the strategy, the sums of its steps
/// and clocks that agree.
class TeamWork {
 public:
  /// Cuts the gradients into buckets. All outlive it. `options` as measure_links() gave them.
  TeamWork(World& world, const Job& job, const strategy::Options& options, Learner& learner,
           const strategy::Meetings& meetings);

  /// Brings everybody to worker 0's weights and clock.
  Task<> begin();

  World& world() { return world_; }
  const strategy::Team& team() const { return team_; }
  int workers() const { return team_.workers; }
  bool alone() const { return team_.workers == 1; }
  /// All take each step together, so what they decide from sums is the same.
  bool in_step() const { return options_.sync.in_step(); }
  /// The weights of all workers are in the same memory.
  bool shares_weights() const { return options_.exchange.shares_memory(); }

  NetworkReplica& replica() { return replica_; }
  PartTensors& part_tensors() { return part_tensors_; }
  strategy::Strategy& strategy() { return *strategy_; }
  strategy::StepSums& sums() { return sums_; }
  Meter& meter() { return strategy_->meter(); }
  const Clocks& clocks() const { return clocks_; }

  /// Compares the clocks of all workers with worker 0's.
  Task<> align_clocks();
  /// What servers of their own tell (server_work.h), at worker 0.
  Task<std::vector<std::string>> hear_servers(strategy::Command what);

 private:
  World& world_;
  const strategy::Team team_;
  const strategy::Options options_;
  const strategy::Meetings& meetings_;
  NetworkReplica replica_;
  PartTensors part_tensors_;
  const std::unique_ptr<strategy::Strategy> strategy_;
  const WorldClock clock_;
  Clocks clocks_;
  Clocks server_clocks_;
  uint32_t heard_ = 0;  // from servers
  strategy::StepSums sums_;
};

}  // namespace syrtos::train
