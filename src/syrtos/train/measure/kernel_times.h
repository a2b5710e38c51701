#pragma once

#include <vector>

#include "syrtos/graph/program.h"
#include "syrtos/run/operators.h"
#include "syrtos/trace/recorder.h"

namespace syrtos::train {

/// How long each kernel of a network's programs takes, from the moments at which the passes of a
/// run went from one kernel to the next: it costs a look at the clock per kernel.
class KernelTimes {
 public:
  /// `programs`, of the pieces of a network, outlive it; each runs so often in a step.
  explicit KernelTimes(std::vector<const graph::Program*> programs, int64_t runs_per_step = 1);

  /// To be told of the kernels of a piece's program, or of another one made of the same graph.
  graph::ItemObserver& of(size_t piece) { return pieces_[piece]; }
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
  struct Piece final : graph::ItemObserver {
    explicit Piece(const graph::Program& of) : program(of), spent(of.items().size()) {}
    void ran(size_t item, Clock::time_point start, Clock::time_point end) override;

    const graph::Program& program;
    std::vector<Spent> spent;
    trace::Track* track = nullptr;
    std::vector<trace::Name> names = {};
  };

  const int64_t runs_per_step_;
  std::vector<Piece> pieces_;
};

}  // namespace syrtos::train
