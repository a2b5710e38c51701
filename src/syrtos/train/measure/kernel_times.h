#pragma once

#include <vector>

#include "syrtos/graph/program.h"
#include "syrtos/run/operators.h"
#include "syrtos/trace/recorder.h"

namespace syrtos::train {

/// How long each kernel of a program takes, from the moments at which the passes of a run went from
/// one kernel to the next: it costs a look at the clock per kernel.
class KernelTimes final : public graph::ItemObserver {
 public:
  /// `program`, which runs so often in a step, outlives it.
  explicit KernelTimes(const graph::Program& program, int64_t runs_per_step = 1);

  void ran(size_t item, Clock::time_point start, Clock::time_point end) override;
  /// Records each kernel too.
  void record(trace::Recorder* recorder);

  /// How often it has looked at the clock.
  int64_t looks() const;
  /// Of each kernel that ran, in order; all its runs of a step are one call.
  std::vector<run::OperatorItem> items() const;

 private:
  struct Spent {
    int64_t calls = 0;
    double seconds = 0;
    double longest = 0;
  };
  const graph::Program& program_;
  const int64_t runs_per_step_;
  std::vector<Spent> spent_;
  trace::Track* track_ = nullptr;
  std::vector<trace::Name> names_;
};

}  // namespace syrtos::train
