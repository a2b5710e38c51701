#pragma once

#include "syrtos/strategy/step_sums.h"
#include "syrtos/strategy/strategy.h"

namespace syrtos::strategy {

/// What happens around the steps of one worker. A training loads batches, looks at losses and ends
/// epochs; a simulation lets time pass.
class StepHandler {
 public:
  virtual ~StepHandler() = default;

  /// Whether another step follows.
  virtual bool goes_on() const = 0;
  /// Whether this worker would like to end before that step.
  virtual bool wants_to_stop() = 0;
  /// Brings the step's batch.
  virtual Task<> load() = 0;
  /// Prepares the replica for a pass over it.
  virtual StepInfo begin_pass() = 0;
  /// The pass is over: what this worker's samples came to.
  virtual Task<Sums> look() = 0;
  /// The run is further by `steps`. `sums` have become known since the last call: of all workers
  /// where they take steps together, and then not this step's yet.
  virtual Task<> end_step(int64_t steps, const Sums& sums) = 0;
  /// The loop ends before the next step, because somebody wants to stop.
  virtual Task<> stop() = 0;
};

/// A worker's program between the beginning and the end of a run: load, pass, look, add up. Where
/// workers take steps together, all of them stop before the same one.
Task<> take_steps(Strategy& strategy, StepSums& sums, StepHandler& handler);

/// Awaits what the last step left on its way.
Task<> settle(Strategy& strategy, StepSums& sums);

}  // namespace syrtos::strategy
