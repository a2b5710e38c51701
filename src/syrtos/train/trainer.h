#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "syrtos/data/loader.h"
#include "syrtos/optim/clip.h"
#include "syrtos/optim/lookahead.h"
#include "syrtos/train/board.h"
#include "syrtos/train/metrics.h"
#include "syrtos/train/network.h"
#include "syrtos/train/resolve.h"
#include "syrtos/train/run_directory.h"
#include "syrtos/train/snapshot.h"

namespace syrtos::train {

struct StartInfo {
  const ResolvedJob& job;
  const RunDirectory& directory;
  int64_t parameters = 0;
  int64_t memory_bytes = 0;  ///< of arenas, parameters and the optimizer
  int64_t steps_per_epoch = 0;
  int64_t total_steps = 0;
  int64_t first_step = 0;  ///< above 0 in a run that goes on
};

struct StepInfo {
  int64_t epoch = 0;  ///< from 1
  int64_t epochs = 0;
  int64_t step_in_epoch = 0;  ///< steps done
  int64_t steps_per_epoch = 0;
  int64_t step = 0;  ///< steps done in the run
  int64_t total_steps = 0;
  double loss = 0;  ///< mean of this epoch so far, as accuracy
  double accuracy = 0;
  double images_per_s = 0;
};

/// Told what happens, on the thread that trains. step() is called after every step and must be
/// quick.
class TrainObserver {
 public:
  virtual ~TrainObserver() = default;
  virtual void started(const StartInfo& info) = 0;
  virtual void step(const StepInfo& info) = 0;
  virtual void epoch(const EpochMetrics& metrics) = 0;
};

struct Outcome {
  enum class End { complete, stopped_early, interrupted };
  End end = End::complete;
  Position position;
  std::vector<EpochMetrics> epochs;  ///< of this process
  double seconds = 0;
};

/// Trains one network on this machine.
class Trainer {
 public:
  /// Builds and compiles everything; nothing is written yet. Throws RequestError.
  explicit Trainer(ResolvedJob job);

  /// Starts at the beginning in a new directory.
  void begin();
  /// Goes on with a run where its last checkpoint was written, or at its beginning if it was
  /// stopped before the first one.
  void resume(const std::filesystem::path& run);

  /// Trains to the end, or until `should_stop` (asked between steps) says so; then a checkpoint
  /// holds the position. Throws RunError when the loss is no longer a number.
  Outcome run(TrainObserver& observer, const std::function<bool()>& should_stop);

  Network& network() { return network_; }
  const RunDirectory& directory() const { return *directory_; }

 private:
  void initialize();
  std::vector<KeptArena> kept() const;
  int64_t memory_bytes() const;
  void train_step();
  void update();
  void note_step(float loss);
  void check_loss(NetworkProgram& training, float loss);
  int64_t steps_in_epoch() const;
  EpochMetrics finish_epoch();
  void measure(EpochMetrics& metrics);
  StepInfo step_info() const;
  void save() const;

  ResolvedJob job_;
  Network network_;
  optim::Optimizer optimizer_;
  std::optional<optim::Lookahead> lookahead_;
  optim::GlobalNorm norm_;
  std::vector<optim::Segment> segments_;
  data::Transform training_transform_;
  data::Transform test_transform_;
  data::Loader loader_;
  optim::EarlyStopping watch_;
  int64_t steps_per_epoch_;
  int64_t total_steps_;
  optim::Schedule schedule_;
  std::optional<RunDirectory> directory_;
  std::optional<Board> board_;
  Position position_;
  bool epoch_complete_ = false;
  PartSeconds seconds_;        // of the current epoch
  int64_t epoch_samples_ = 0;  // of the current epoch in this process
  double learning_rate_ = 0;
};

}  // namespace syrtos::train
