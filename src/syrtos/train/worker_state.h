#pragma once

#include <optional>
#include <string>
#include <vector>

#include "syrtos/base/clock.h"
#include "syrtos/data/pipeline/loader.h"
#include "syrtos/job/job.h"
#include "syrtos/optim/early_stopping.h"
#include "syrtos/run/directory.h"
#include "syrtos/run/metrics.h"
#include "syrtos/train/course.h"
#include "syrtos/train/measure/earlier.h"
#include "syrtos/train/network/learner.h"

namespace syrtos::train {

/// What metrics.jsonl is to have where another team goes on.
struct MetricsToMend {
  int64_t kept = 0;                       ///< epochs that are in it and ended by this step
  int64_t step = 0;                       ///< and, if they are missing, of the next ones
  std::vector<run::EpochMetrics> epochs;  ///< those that ended by this one
};

/// What a worker has before, while and after it runs: what is trained, the data, and where it is.
struct WorkerState {
  /// `shared`: another worker of this process, whose weights and optimiser it uses. Throws
  /// RequestError, also when memory does not suffice.
  WorkerState(Job resolved, int number, TrainerOptions beside, const WorkerState* shared);

  Job job;  ///< what links were measured is noted in it
  const int worker;
  const TrainerOptions options;
  Learner learner;
  data::Transform training_transform;
  data::Transform test_transform;
  data::Loader loader;
  Course course;
  optim::EarlyStopping watch;
  std::optional<run::Directory> directory;       ///< worker 0's
  Earlier earlier;                               ///< worker 0's, of a run that goes on
  std::vector<std::string> notes = {};           ///< worker 0's: what was damaged in that run
  std::optional<run::TrainedPart> trained = {};  ///< by its team, once that has ended
  std::vector<run::EpochMetrics> history = {};   ///< of all epochs that this worker has seen end
  std::optional<MetricsToMend> to_mend = {};     ///< worker 0's, until that is on disk
  Spool others = {};                             ///< worker 0's: what others have of the network
  std::unique_ptr<TensorSource> source = {};     ///< worker 0's: what others begin with
  const double made = wall_clock();              ///< when all of this was there, seconds since 1970

  bool is_first() const { return worker == 0; }
  int64_t memory_bytes() const;
  /// The run is there now.
  void go_to(const Position& position);
  /// Worker 0: before anything is added to metrics.jsonl. Throws RunError: then it is still to do.
  void mend_metrics();
  /// Worker 0: writes the last checkpoint.
  void save();
};

}  // namespace syrtos::train
