#pragma once

#include <optional>
#include <vector>

#include "syrtos/run/metrics.h"
#include "syrtos/run/test_scores.h"
#include "syrtos/train/checkpoint/checkpoints.h"
#include "syrtos/train/measure/board.h"
#include "syrtos/train/measure/measuring.h"
#include "syrtos/train/network/evaluate.h"

namespace syrtos::train {

using run::EpochMetrics;

/// What this process has trained of the current epoch.
struct EpochPace {
  double seconds = 0;
  int64_t samples = 0;  ///< of all workers where they keep in step, else of this one
};

/// What workers do together when an epoch, or the run, ends: agree, evaluate, merge, keep.
class EpochEnd {
 public:
  /// All outlive it. `keeper`, `board`: worker 0's, elsewhere nullptr.
  EpochEnd(WorkerState& state, TeamWork& team, WorkerMeetings& meetings, Checkpoints& checkpoints,
           Measuring& measuring, Keeper* keeper, Board* board)
      : state_(state),
        team_(team),
        meetings_(meetings),
        checkpoints_(checkpoints),
        measuring_(measuring),
        keeper_(keeper),
        board_(board) {}

  struct Result {
    EpochMetrics metrics;  ///< worker 0's are those of all
    bool gather = false;   ///< what was measured is to be gathered now
  };
  /// Nothing when all stop instead; then the position was saved.
  Task<std::optional<Result>> finish(const EpochPace& pace);

 private:
  bool evaluates() const;
  Task<EpochReport> own_report(const EpochPace& pace);
  Task<Evaluation> evaluate_own_part();
  EpochReport report_of(const EpochPace& pace);
  EpochMetrics merge(const std::vector<EpochReport>& reports);
  void check(const EpochMetrics& metrics) const;

  WorkerState& state_;
  TeamWork& team_;
  WorkerMeetings& meetings_;
  Checkpoints& checkpoints_;
  Measuring& measuring_;
  Keeper* const keeper_;
  Board* const board_;
  run::TestScores details_;  ///< worker 0's, of the last evaluation
};

}  // namespace syrtos::train
