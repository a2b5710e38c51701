#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "syrtos/collective/collective.h"
#include "syrtos/collective/group.h"
#include "syrtos/strategy/clocks.h"
#include "syrtos/strategy/meter.h"
#include "syrtos/strategy/options.h"
#include "syrtos/strategy/strategy.h"
#include "syrtos/world/started.h"

namespace syrtos::strategy {

/// What the samples of a step, or of part of an epoch, came to.
struct Sums {
  double loss = 0;   ///< times samples
  double score = 0;  ///< what the task is measured by, times samples: right answers, or errors
  int64_t samples = 0;

  Sums& operator+=(const Sums& more) {
    loss += more.loss;
    score += more.score;
    samples += more.samples;
    return *this;
  }
};

/// What the steps came to, added up over all workers where they take each step together; elsewhere
/// each worker keeps its own. A step's sums cross while the next step computes. With them travel
/// the wish to stop, so that all stop after the same step, and, with all-reduce, when each worker
/// had computed its step: from that each knows how long it waited for slower ones.
///
/// Messages and bytes of a step: those of an all-reduce by doubling of 4 floats, with all-reduce of
/// 4 + workers.
class StepSums {
 public:
  /// All outlive it. The clocks are aligned before the first step.
  StepSums(World& world, const Team& team, const Options& options, Meter& meter,
           const Clocks& clocks);

  /// Whether workers add theirs up.
  bool shared() const { return shared_; }
  /// Takes a step's sums. Where they are shared, they start to cross; the step before's are
  /// complete then.
  Task<> add(const Sums& mine, bool wants_to_stop);
  /// Completes what is on its way.
  Task<> complete();
  /// What has become complete since the last call.
  Sums take() { return std::exchange(complete_, {}); }

  /// Somebody wanted to stop: known to all after the same step, or since the same meeting.
  bool stop_agreed() const { return stop_agreed_; }
  void agree_to_stop() { stop_agreed_ = true; }

 private:
  void compare_moments();

  World& world_;
  const collective::Group group_;
  Meter& meter_;
  const Clocks& clocks_;
  const bool shared_;
  const bool compares_moments_;
  /// Stop, loss, score, samples; then, for each worker, when it had computed its step.
  std::vector<float> crossing_;
  std::optional<collective::PreparedAllReduce> all_reduce_;  // of crossing_, where it is shared
  world::Started exchange_;
  uint32_t rounds_ = 0;
  Sums complete_;
  bool stop_agreed_ = false;
  int64_t computed_ = 0;  // own moment that is on its way
  int64_t latest_ = 0;    // of those that came last, on worker 0's clock
};

}  // namespace syrtos::strategy
