#pragma once

#include <optional>
#include <utility>

#include "syrtos/strategy/clocks.h"
#include "syrtos/strategy/meter.h"
#include "syrtos/trace/division_log.h"

namespace syrtos::train {

/// Writes down where the time of each of a worker's steps went. What happens between two steps
/// (saving, evaluating, meetings at the end of an epoch) belongs to the record of the step before.
///
/// A record is kept back until the next step is over: only then it is known which of the others
/// were still computing when this worker waited.
class Accounting {
 public:
  /// The first step, after so many, begins. `meter` outlives it.
  Accounting(strategy::Meter& meter, const world::World& world, int64_t steps_done);

  /// So many steps are done now.
  void end_step(int64_t steps_done);
  /// What came after the last step is over.
  void end_pause();
  /// Nothing is kept back: the others' last step is over too.
  void close();

  /// Where the time of the steps since the last call went, without pauses but for checkpoints.
  trace::StepDivision take_epoch();
  const trace::DivisionLog& log() const { return log_; }
  /// The steps that were written down since the last call; nothing when there are none.
  std::optional<trace::DivisionRecord> take_recent() { return std::exchange(recent_, {}); }

 private:
  strategy::Meter& meter_;
  const strategy::WorldClock clock_;
  trace::DivisionLog log_;
  int64_t steps_done_;
  struct Step {
    int64_t number = 0;
    strategy::Measured itself;
    bool taken = false;  // by take_epoch()
    strategy::Measured pauses;
  };
  std::optional<Step> last_;
  trace::StepDivision epoch_;
  std::optional<trace::DivisionRecord> recent_;
};

}  // namespace syrtos::train
