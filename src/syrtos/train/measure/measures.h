#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "syrtos/base/clock.h"
#include "syrtos/job/job.h"
#include "syrtos/run/directory.h"
#include "syrtos/trace/division_log.h"
#include "syrtos/train/measure/earlier.h"
#include "syrtos/train/measure/measuring_cost.h"
#include "syrtos/train/measure/notebook.h"
#include "syrtos/train/measure/own_measures.h"
#include "syrtos/train/network/compiled_network.h"
#include "syrtos/train/team/team_work.h"
#include "syrtos/train/trainer_options.h"

namespace syrtos::train {

using job::Job;

/// What each worker measured beside training, and the files that worker 0 makes of it
/// (run/steps.h, parts.h, hosts.h, operators.h, exchange.h). When a run goes on, they go on too
/// (earlier.h): on the clock of the first process, on which the next one begins where the one
/// before has ended.
class Measures {
 public:
  /// All outlive it. The curves begin, if this is the first worker of its host. The trainer was
  /// made at `made_at`, seconds since 1970.
  Measures(TeamWork& team, const CompiledNetwork& network, const Job& job,
           const TrainerOptions& options, double made_at, Earlier earlier, Notebook* notebook,
           int64_t steps_done);

  /// What this worker brings; `events` of a trace were recorded so far.
  std::string own_text(const trace::DivisionLog& log, int64_t events);
  OwnMeasures& own() { return own_; }
  /// Worker 0, after so many steps: texts of all, servers too, empty for those that are lost.
  /// Blocks as long as the disk does; the others are left to the notebook.
  void write(const run::Directory& directory, const std::vector<std::string>& texts,
             int64_t steps_done);
  /// Worker 0, when others are lost: the same with what they brought last.
  void write_alone(const run::Directory& directory, const std::string& own, int64_t steps_done);
  void write_exchange(const run::Directory& directory) const;
  /// Worker 0, where workers can be spared: writes down at once whom the run goes on without.
  void look_for_lost(const run::Directory& directory, int64_t steps_done);

  /// Worker 0: those of them that were not taken yet.
  std::vector<int> take_lost() { return std::exchange(untold_, {}); }

  /// Worker 0: whether it is worth while to gather and write again, which took `spent` so far.
  bool due() const;
  void spent(double seconds) { spent_s_ += seconds; }

  void add_samples(const std::string& host, const std::vector<trace::HostSample>& samples);
  const run::HostCurves& hosts() const { return hosts_; }
  /// Worker 0, before it adds samples: `own` steps.
  void begin(const trace::DivisionLog& own);
  /// What this team has trained, to so many steps.
  run::TrainedPart part(int64_t steps_done) const;
  /// Worker 0: a run that goes on has a part more, to so many steps.
  void write_parts(const run::Directory& directory, int64_t steps_done);
  /// The last step is over: what follows is the end.
  void steps_ended() { trained_s_ = seconds_since(begun_); }
  bool goes_on() const { return first_step_ > 1; }

 private:
  void begin_after_earlier(const std::vector<trace::RankDivision>& own);
  run::PartTime time() const;
  double measuring_s(int64_t events) const;
  std::vector<run::BucketTimes> buckets() const;
  run::ExchangeProfile exchange() const;
  run::OperatorProfile operators() const;

  TeamWork& team_;
  const CompiledNetwork& network_;
  const Job& job_;
  const TrainerOptions& options_;
  Notebook* const notebook_;  // worker 0's
  const Clock::time_point begun_ = Clock::now();
  double spent_s_ = 0;
  const MeasuringCost cost_ = MeasuringCost::measure();
  OwnMeasures own_;

  // At worker 0.
  const Earlier earlier_;
  const int64_t first_step_;
  int64_t last_step_;  // that was written down
  std::vector<run::LostWorker> lost_;
  std::vector<int> untold_;          // of them
  std::vector<bool> is_lost_;        // workers
  const double made_at_, begun_at_;  // seconds since 1970
  std::optional<double> trained_s_;  // once the last step is over
  std::optional<int64_t> later_;     // nanoseconds from this process's clock to the run's
  run::HostCurves hosts_;
  std::vector<std::string> texts_;  // that were written down last
  std::vector<run::RankTraffic> ranks_;
  std::vector<run::RankTraffic> servers_;  // of their own
};

}  // namespace syrtos::train
