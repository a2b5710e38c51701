#pragma once

#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "syrtos/base/parallel.h"
#include "syrtos/data/pipeline/loader.h"
#include "syrtos/optim/lookahead.h"
#include "syrtos/run/directory.h"
#include "syrtos/run/metrics.h"
#include "syrtos/train/board.h"
#include "syrtos/train/compiled_network.h"
#include "syrtos/train/measures.h"
#include "syrtos/train/news.h"
#include "syrtos/train/run_trace.h"
#include "syrtos/train/snapshot.h"
#include "syrtos/train/team_work.h"
#include "syrtos/train/trainer_options.h"
#include "syrtos/world/world.h"

namespace syrtos::train {

using job::Job;

struct StartInfo {
  const Job& job;
  const run::Directory& directory;
  int64_t parameters = 0;
  int64_t memory_bytes = 0;  ///< of arenas, parameters and the optimizer, of this worker
  int64_t steps_per_epoch = 0;
  int64_t total_steps = 0;
  int64_t first_step = 0;  ///< above 0 in a run that goes on
  int buckets = 1;         ///< of gradients
};

struct StepInfo {
  int64_t epoch = 0;  ///< from 1
  int64_t epochs = 0;
  int64_t step_in_epoch = 0;  ///< steps done
  int64_t steps_per_epoch = 0;
  int64_t step = 0;  ///< steps done in the run
  int64_t total_steps = 0;
  double loss = 0;  ///< mean of this epoch's samples so far, as accuracy
  double accuracy = 0;
  int64_t samples = 0;
  double images_per_s = 0;  ///< of all workers, in this epoch
  double seconds = 0;       ///< of training in this epoch
};

/// Told what happens, on the thread of the world. step() is called after every step and must be
/// quick. Only rank 0 speaks of epochs.
class TrainObserver {
 public:
  virtual ~TrainObserver() = default;
  virtual void started(const StartInfo& info) = 0;
  virtual void step(const StepInfo& info) = 0;
  virtual void epoch(const EpochMetrics& metrics) = 0;
};

/// How a run ended.
struct Outcome {
  enum class End { complete, stopped_early, interrupted };
  End end = End::complete;
  Position position;
  std::vector<EpochMetrics> epochs;  ///< of this process; rank 0's are those of all
  double seconds = 0;
  std::map<int64_t, int64_t> staleness;  ///< updates between pull and push -> pushes, at rank 0
  int64_t dropped = 0;                   ///< of them: gradients that came too late to count
};

/// For whoever runs a task that has a result.
world::Task<> keep_result(world::Task<Outcome> task, Outcome& outcome);

/// Trains one network, alone or as one of several workers.
class Trainer {
 public:
  /// Builds and compiles everything; nothing is written yet. Throws RequestError. `sharing`:
  /// another worker of this process, whose weights and optimiser it uses (--exchange shared).
  explicit Trainer(Job job, int worker = 0, TrainerOptions options = {},
                   const Trainer* sharing = nullptr);

  /// Worker 0: starts at the beginning in a new directory.
  void begin();
  /// Worker 0: goes on with a run where its last checkpoint was written, or at its beginning if it
  /// was stopped before the first one.
  void resume(const std::filesystem::path& run);

  /// The worker's program: trains to the end, or until `should_stop` (asked between steps) says so
  /// on any worker; then a checkpoint holds the position. Throws RunError when the loss is no
  /// longer a number.
  world::Task<Outcome> run(world::World& world, TrainObserver& observer,
                           std::function<bool()> should_stop);
  /// The same for a worker that is alone.
  Outcome run_alone(TrainObserver& observer, const std::function<bool()>& should_stop);

  CompiledNetwork& network() { return network_; }
  const run::Directory& directory() const { return *directory_; }

 private:
  /// Everything is made under the scope, with the threads that it will run with.
  Trainer(Job&& job, int worker, TrainerOptions&& options, const Trainer* sharing,
          const ThreadScope& threads);
  void initialize();
  std::vector<KeptArena> kept() const;
  int64_t memory_bytes() const;
  void lay_out_steps();
  int64_t steps_in_epoch() const;
  bool epoch_is_over() const;
  void require_samples_for_all() const;

  world::Task<Outcome> train(world::World& world, TrainObserver& observer,
                             std::function<bool()> should_stop);
  world::Task<> start(TrainObserver& observer);
  world::Task<> train_step(world::World& world, bool wants_to_stop);
  world::Task<> end_epoch(world::World& world, TrainObserver& observer, Outcome& outcome,
                          bool& go_on);
  void add(const Sums& sums);
  Sums sums() const { return {position_.loss_sum, position_.correct, position_.samples}; }
  void set_sums(const Sums& sums);
  void load_batch();
  void look_at_loss();
  [[noreturn]] void fail_of_loss();
  world::Task<> look_ahead(world::World& world);
  int64_t samples_of(const data::Slice& slice, int64_t used) const;
  void advance(int64_t steps);
  void note_step();
  /// Nothing when all go on to stop instead.
  world::Task<std::optional<EpochMetrics>> finish_epoch(world::World& world, bool& gather);
  EpochReport measure_own_part(bool evaluated);
  EpochMetrics merge(const std::vector<EpochReport>& reports, bool evaluated);
  void keep(const EpochMetrics& metrics);
  world::Task<> checkpoint(world::World& world, bool wants_to_stop);
  world::Task<> save_together(world::World& world);
  void note_updates();
  void save() const;
  StepInfo step_info() const;
  world::Task<> settle();
  world::Task<> save_here(world::World& world);
  void look_for_lost();
  world::Task<> gather_measures(world::World& world);
  world::Task<> gather_trace(world::World& world);
  bool is_first() const { return worker_ == 0; }

  const Job job_;
  const int worker_;
  const TrainerOptions options_;
  CompiledNetwork network_;
  std::shared_ptr<optim::Optimizer> optimizer_;
  std::optional<optim::Lookahead> lookahead_;
  data::Transform training_transform_;
  data::Transform test_transform_;
  data::Loader loader_;
  optim::EarlyStopping watch_;
  int64_t steps_per_epoch_;
  int64_t total_steps_ = 0;
  optim::Schedule schedule_;
  std::optional<run::Directory> directory_;
  Earlier earlier_;
  std::optional<Board> board_;
  Position position_;
  bool epoch_complete_ = false;
  double trained_s_ = 0;  // of the current epoch
  // Of the current epoch, trained in this process: of all workers where they keep in step, else of
  // this one.
  int64_t epoch_samples_ = 0;
  double learning_rate_ = 0;

  data::Batch batch_;             // of the current step
  float loss_ = 0;                // of the last step's own samples
  int64_t correct_ = 0;           // in the last step
  std::optional<TeamWork> team_;  // while it runs
  std::optional<Accounting> accounting_;
  std::optional<Measures> measures_;
  std::optional<News> news_;
  std::optional<RunTrace> trace_;
};

}  // namespace syrtos::train
