#pragma once

#include "syrtos/base/scribe.h"
#include "syrtos/train/progress/observer.h"

namespace syrtos::train {

/// Tells another observer, on a thread of its own: that one may block, as what prints does when
/// nobody reads, and training goes on. Of steps only the newest is told; epochs and notes all are,
/// but for thousands that wait. Its end waits until everything is told.
class ObserverThread final : public TrainObserver {
 public:
  /// `observer` outlives it.
  explicit ObserverThread(TrainObserver& observer) : observer_(observer) {}

  void started(const StartInfo& info) override {
    scribe_.post([this, info] { observer_.started(info); });
  }
  void step(const StepProgress& info) override {
    scribe_.post_newest(0, [this, info] { observer_.step(info); });
  }
  void epoch(const run::EpochMetrics& metrics) override {
    scribe_.post([this, metrics] { observer_.epoch(metrics); });
  }
  void note(const std::string& text) override {
    scribe_.post([this, text] { observer_.note(text); });
  }

 private:
  TrainObserver& observer_;
  Scribe scribe_{10'000};
};

}  // namespace syrtos::train
