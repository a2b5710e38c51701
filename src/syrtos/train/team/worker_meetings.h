#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "syrtos/data/pipeline/order.h"
#include "syrtos/strategy/meeting.h"
#include "syrtos/strategy/step_sums.h"
#include "syrtos/train/epoch_report.h"

namespace syrtos::train {

/// What workers of a run meet for. Alone it costs next to nothing.
class WorkerMeetings {
 public:
  /// All outlive it. A wish to stop is told to `sums`, waiting to `meter`.
  WorkerMeetings(world::World& world, const strategy::Team& team, strategy::Meetings& meetings,
                 strategy::StepSums& sums, strategy::Meter& meter);

  /// Nobody goes on before all have come. If one of them wants to stop, the sums know it.
  world::Task<> meet(bool wants_to_stop = false);
  /// Workers that came to the last such meeting.
  int64_t present() const { return test_shard_.workers; }
  /// Which part of the test data is this worker's: the lost ones' parts go to the others.
  data::Shard test_shard() const { return test_shard_; }

  /// All reports, at worker 0; elsewhere `decide` is not called. Everybody leaves with its text.
  world::Task<nlohmann::json> report(
      const EpochReport& mine,
      std::function<nlohmann::json(const std::vector<EpochReport>&)> decide);
  /// Everybody leaves with what worker 0 brings.
  world::Task<nlohmann::json> hear_first(nlohmann::json mine);
  /// Where each has sums of its own: worker 0 leaves with those of all, the others with none.
  world::Task<strategy::Sums> hand_over(strategy::Sums mine);
  /// Everybody gets the mean of the running statistics.
  world::Task<> average(strategy::Floats states);
  /// What each worker brings, at worker 0; empty for those that are lost.
  world::Task<std::vector<std::string>> gather(std::string mine);

 private:
  bool alone() const { return workers_ == 1; }
  world::Task<> average_in_group(strategy::Floats states);

  world::World& world_;
  const int workers_;
  strategy::Meetings& meetings_;
  strategy::StepSums& sums_;
  strategy::Meter& meter_;
  const collective::Group group_;  // who has the same part of the network
  uint32_t averaged_ = 0;          // times
  data::Shard test_shard_;
};

}  // namespace syrtos::train
