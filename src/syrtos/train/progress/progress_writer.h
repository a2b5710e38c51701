#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "syrtos/base/scribe.h"
#include "syrtos/run/directory.h"
#include "syrtos/run/metrics.h"
#include "syrtos/run/progress.h"
#include "syrtos/train/progress/observer.h"

namespace syrtos::train {

/// Keeps whoever watches a run up to date: how far it is (run/progress.h, about once in a second),
/// its curve (run/curve.h, a point about once in a second, of long runs less often) and what it has
/// to say (run/log.h). Watching is a convenience: what cannot be written is left out, and nothing
/// here throws. On the thread of the world, which never waits: another thread writes. Nothing is
/// written before started(), which is worker 0's.
class ProgressWriter final : public TrainObserver {
 public:
  /// `observer` is told too, and outlives it.
  explicit ProgressWriter(TrainObserver& observer) : observer_(observer) {}
  /// A run of which nobody said how it ended has failed.
  ~ProgressWriter() override { end(run::State::failed); }

  void started(const StartInfo& info) override;
  /// Quick: it writes only when a second has passed.
  void step(const StepProgress& info) override;
  void epoch(const run::EpochMetrics& metrics) override;
  /// How the run ended, and why, if it failed. The first time counts.
  void end(run::State state, const std::string& message = "");
  /// Nobody knows yet how the run ends: what is written stays as it is.
  void leave();
  void note(const std::string& text) override;
  std::optional<double> take_rate() override { return observer_.take_rate(); }
  void lost(int worker) override { observer_.lost(worker); }
  /// Waits until everything is written.
  void finish() { scribe_.drain(); }

 private:
  using Clock = std::chrono::steady_clock;
  /// Sums of the current epoch.
  struct Sums {
    int64_t epoch = 0;
    double loss = 0;
    double score = 0;
    int64_t samples = 0;
    double images = 0;  // of all workers
    double seconds = 0;
  };

  void note(const StepProgress& info);
  void write();
  void add_point();
  void log(std::string line);

  TrainObserver& observer_;
  std::optional<run::Directory> directory_;  // while it trains
  run::Progress progress_;
  std::string sample_;  // what a sample is called
  Sums now_, noted_;    // noted_: as of the last point
  Clock::time_point begun_, written_, point_;
  Scribe scribe_;  // the last: it ends first
};

}  // namespace syrtos::train
