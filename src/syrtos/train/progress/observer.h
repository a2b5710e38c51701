#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "syrtos/job/job.h"
#include "syrtos/run/directory.h"
#include "syrtos/run/metrics.h"

namespace syrtos::train {

using job::Job;
using run::EpochMetrics;

struct StartInfo {
  const Job& job;
  const run::Directory& directory;
  int64_t parameters = 0;
  int64_t memory_bytes = 0;  ///< of arenas, parameters and the optimizer, of this worker
  int64_t steps_per_epoch = 0;
  int64_t total_steps = 0;
  int team = 1;                         ///< above 1: another team goes on with the run
  int64_t first_step = 0;               ///< above 0 in a run that goes on
  int buckets = 1;                      ///< of gradients
  int beside = 1;                       ///< workers on the host of this one, with it
  int cores = 0;                        ///< of that host; 0: unknown
  std::vector<std::string> notes = {};  ///< about the run, beside those of the job
  /// What the weights start from and which of them stay, a line each; none: all were drawn.
  std::vector<std::string> weights = {};
};

struct StepProgress {
  int64_t epoch = 0;  ///< from 1
  int64_t epochs = 0;
  int64_t step_in_epoch = 0;  ///< steps done
  int64_t steps_per_epoch = 0;
  int64_t step = 0;  ///< steps done in the run
  int64_t total_steps = 0;
  double loss = 0;  ///< mean of this epoch's samples so far, as the score
  run::Score score = {};
  int64_t samples = 0;
  double images_per_s = 0;  ///< of all workers, in this epoch
  double seconds = 0;       ///< of training in this epoch
};

/// Told what happens, on the thread of the world. step() is called after every step and must be
/// quick. Only rank 0 speaks of epochs.
class TrainObserver {
 public:
  virtual ~TrainObserver() = default;
  virtual void started(const StartInfo& /*info*/) {}
  virtual void step(const StepProgress& /*progress*/) {}
  virtual void epoch(const EpochMetrics& /*metrics*/) {}
  /// The run goes on without this worker.
  virtual void lost(int /*worker*/) {}
  /// A learning rate that is wanted from now on in place of the job's. Asked of worker 0's after
  /// each epoch and, where it trains alone, after each step.
  virtual std::optional<double> take_rate() { return std::nullopt; }
  /// Something that people should know, and that does not end the run.
  virtual void note(const std::string& /*text*/) {}
};

}  // namespace syrtos::train
