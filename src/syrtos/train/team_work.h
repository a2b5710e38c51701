#pragma once

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "syrtos/job/job.h"
#include "syrtos/run/metrics.h"
#include "syrtos/strategy/meeting.h"
#include "syrtos/strategy/strategy.h"
#include "syrtos/train/accounting.h"
#include "syrtos/train/clocks.h"
#include "syrtos/train/evaluate.h"
#include "syrtos/train/replica.h"
#include "syrtos/world/started.h"

namespace syrtos::train {

using job::Job;
using run::EpochMetrics;
using strategy::Meter;
using trace::Part;
using world::Task;
using world::World;

/// What the samples of a step, or of part of an epoch, came to.
struct Sums {
  double loss = 0;  ///< times samples
  int64_t correct = 0;
  int64_t samples = 0;
};

/// What a worker brings to the meeting at the end of an epoch.
struct EpochReport {
  std::string host;
  trace::StepDivision seconds;
  Sums training;          ///< of the worker's own samples, where workers do not keep in step
  int64_t trained = 0;    ///< samples of the epoch in this process, of all who keep in step with it
  Evaluation evaluation;  ///< of its part of the test data
  double queue = 0;
  double helped = 0;
};

/// Everything a worker does together with the others: starting from the same state, the strategy,
/// sums over all workers, meetings. Alone it costs next to nothing.
class TeamWork {
 public:
  TeamWork(World& world, const Job& job);

  World& world() { return world_; }
  int workers() const { return team_.workers; }
  bool alone() const { return team_.workers == 1; }
  /// All take each step together, so what they decide from sums is the same.
  bool in_step() const { return sync_.in_step(); }

  /// The weights of all workers are in the same memory.
  bool shares_weights() const { return options_.exchange.shares_memory(); }

  /// All compare what they are about to do (key -> value, see fingerprint.h); refuses with the
  /// names of those that differ from worker 0. Everybody leaves with worker 0's `state`.
  Task<nlohmann::json> open(nlohmann::json fingerprint, nlohmann::json state);
  /// Measures the links, cuts the gradients into buckets and brings everybody to worker 0's
  /// weights.
  Task<> begin(CompiledNetwork& network, optim::Optimizer& optimizer, std::vector<KeptArena> kept);

  NetworkReplica& replica() { return *replica_; }
  strategy::Strategy& strategy() { return *strategy_; }
  Meter& meter() { return strategy_->meter(); }

  /// Adds a step's sums to those of the others while the next step computes. What was started
  /// before is complete afterwards and can be taken.
  Task<> share(const Sums& sums, bool wants_to_stop);
  /// Completes what is on its way.
  Task<> complete_sums();
  Sums take_sums() { return std::exchange(complete_, {}); }
  /// Somebody wanted to stop; known to all in the same step, or since the same meeting.
  bool stop_agreed() const { return stop_agreed_; }

  /// Compares the clocks of all workers with worker 0's.
  Task<> align_clocks();
  const Clocks& clocks() const { return clocks_; }
  /// What each worker brings, at worker 0; empty for those that are lost.
  Task<std::vector<std::string>> gather(std::string mine);
  /// What servers of their own tell (server_work.h), at worker 0.
  Task<std::vector<std::string>> hear_servers(strategy::Command what);

  /// Everybody gets the mean of the running statistics.
  Task<> average_states();
  /// All reports, at worker 0; elsewhere `decide` is not called. Everybody leaves with its text.
  Task<nlohmann::json> report(
      const EpochReport& mine,
      std::function<nlohmann::json(const std::vector<EpochReport>&)> decide);
  /// Nobody goes on before all have come. If one of them wants to stop, stop_agreed() says so.
  Task<> meet(bool wants_to_stop = false);
  /// Where each has sums of its own: worker 0 leaves with those of all, the others with none.
  Task<Sums> hand_over(Sums mine);
  /// Workers that came to the last meeting.
  int64_t present() const { return test_shard_.workers; }
  /// Which part of the test data is this worker's: the lost ones' parts go to the others.
  data::Shard test_shard() const { return test_shard_; }

 private:
  Task<> exchange_sums(uint32_t round);
  void compare_moments();

  World& world_;
  const strategy::Team team_;
  const strategy::Sync sync_;
  strategy::Options options_;
  const optim::OptimizerOptions optimizer_options_;
  const std::filesystem::path replay_file_;
  const collective::Group group_;
  strategy::Meetings meetings_;
  std::optional<NetworkReplica> replica_;
  std::unique_ptr<strategy::Strategy> strategy_;
  data::Shard test_shard_;

  static constexpr size_t kSums = 4;
  /// Stop, loss, correct, samples; then, for each worker, when it had computed its step.
  std::vector<float> crossing_;
  world::Started exchange_;
  uint32_t rounds_ = 0;
  Sums complete_;
  bool stop_agreed_ = false;

  const WorldClock clock_;
  Clocks clocks_;
  Clocks server_clocks_;
  uint32_t heard_ = 0;  // from servers
  bool compares_moments_ = false;
  int64_t computed_ = 0;  // own moment that is on its way
  int64_t latest_ = 0;    // of those that came last, on worker 0's clock
};

/// Ranks of a job: workers, and servers of their own.
strategy::Team team_of(const Job& job);

}  // namespace syrtos::train
