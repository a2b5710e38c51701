#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <vector>

#include "syrtos/base/parallel.h"
#include "syrtos/run/metrics.h"
#include "syrtos/run/parts.h"
#include "syrtos/strategy/meeting.h"
#include "syrtos/train/progress/observer.h"
#include "syrtos/train/progress/outcome.h"
#include "syrtos/train/team/team_work.h"
#include "syrtos/train/worker_state.h"
#include "syrtos/world/world.h"

namespace syrtos::train {

/// What a worker takes along from one team to the next.
struct Carried {
  Snapshot snapshot;
  std::vector<run::EpochMetrics> history;   ///< of the epochs before
  std::optional<run::Directory> directory;  ///< of the one that was worker 0
  std::optional<run::TrainedPart> trained;  ///< by the team
  std::vector<run::LostWorker> lost = {};   ///< whom the next team goes on without
};

/// Trains one network, alone or as one of several workers.
class Trainer {
 public:
  /// Builds and compiles everything; nothing is written yet. Throws RequestError. `sharing`:
  /// another worker of this process, whose weights and optimiser it uses (--exchange shared).
  explicit Trainer(Job job, int worker = 0, TrainerOptions options = {},
                   const Trainer* sharing = nullptr);

  /// Worker 0: starts at the beginning in a new directory, which is its own from then on.
  void begin(run::Claim claim = {});
  /// Worker 0: goes on with a run where find_resume_point() says. Throws RequestError, and then
  /// nothing has changed.
  void resume(const std::filesystem::path& run, run::Claim claim = {});

  /// After run() has thrown PeerLost, or has ended because somebody wanted to stop: what the worker
  /// goes on from in another team, with a trainer of its own. Nothing where it has not enough.
  std::optional<Carried> leave_team();
  /// Goes on with what was carried along. Worker 0 takes the run's directory over, by `claim`,
  /// unless it has it already, and notes what the run has lost.
  void enter_team(const Carried& carried, const std::filesystem::path& run, run::Claim claim);

  /// The worker's program: trains to the end, or until `should_stop` (asked between steps) says so
  /// on any worker; then a checkpoint holds the position. Throws RunError when the loss is no
  /// longer a number. `pauses`: whoever stops goes on as another team, so that nothing depends on
  /// the checkpoint; Outcome::unsaved says whether it is there.
  world::Task<Outcome> run(world::World& world, TrainObserver& observer,
                           std::function<bool()> should_stop, std::function<bool()> pauses = {});
  /// The same for a worker that is alone.
  Outcome run_alone(TrainObserver& observer, const std::function<bool()>& should_stop);

  CompiledNetwork& network() { return state_.learner.network(); }
  const run::Directory& directory() const { return *state_.directory; }

 private:
  /// Everything is made under the scope, with the threads that it will run with.
  Trainer(Job&& job, int worker, TrainerOptions&& options, const Trainer* sharing,
          const ThreadScope& threads);
  void go_on_from(const std::filesystem::path& file);
  void require_samples_for_all() const;
  world::Task<> note_links(world::World& world, const strategy::Options& options);
  world::Task<> begin_parts(world::World& world, TeamWork& team);
  world::Task<> start_together(world::World& world, strategy::Meetings& meetings);
  world::Task<Outcome> train(world::World& world, TrainObserver& observer,
                             std::function<bool()> should_stop, std::function<bool()> pauses);

  void mend_metrics_if_possible();
  void take_over(const std::filesystem::path& run, run::Claim claim);

  WorkerState state_;
  std::optional<Position> left_at_;  // a position that the weights are at, once run() has ended
};

/// For whoever runs a task that has a result.
world::Task<> keep_result(world::Task<Outcome> task, Outcome& outcome);

}  // namespace syrtos::train
