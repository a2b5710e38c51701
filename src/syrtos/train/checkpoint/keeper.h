#pragma once

#include <functional>
#include <string>
#include <vector>

#include "syrtos/run/metrics.h"
#include "syrtos/run/test_scores.h"
#include "syrtos/train/measure/notebook.h"
#include "syrtos/train/worker_state.h"

namespace syrtos::train {

/// Brings to disk what a run must not lose: checkpoints and the lines of metrics.jsonl. What fails
/// (a full disk, a share that is gone) is said and tried again with the next checkpoint, and
/// training goes on; only at the end of the run it has to succeed. Worker 0's; one thread at a
/// time, which blocks as long as the disk does.
class Keeper {
 public:
  /// Both outlive it.
  Keeper(WorkerState& state, Notebook& notebook) : state_(state), notebook_(notebook) {}

  /// The position. `must`: the run ends here. Throws RunError: then it failed, or another process
  /// has taken the run over.
  void keep_position(bool must);
  /// What an epoch came to, of the best one in detail, and the position after it.
  void keep_epoch(const run::EpochMetrics& metrics, const run::TestScores& scores, bool must);

  /// Why what was tried last is not on disk; empty: it is.
  const std::string& failure() const { return failure_; }

 private:
  void attempt(bool must, const std::function<void()>& work);
  void write_metrics();
  int64_t cycle_ended(int64_t epoch) const;

  WorkerState& state_;
  Notebook& notebook_;
  std::vector<run::EpochMetrics> unwritten_;
  std::string failure_;
  bool best_is_owed_ = false;  // the best checkpoint is not kept as such yet
};

}  // namespace syrtos::train
