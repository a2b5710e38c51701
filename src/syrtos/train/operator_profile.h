#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "syrtos/graph/program.h"
#include "syrtos/trace/recorder.h"

namespace syrtos::train {

/// How long each kernel of a program takes, from the moments at which the passes of a run went from
/// one kernel to the next: it costs a look at the clock per kernel.
class OperatorProfile final : public graph::ItemObserver {
 public:
  /// `program` outlives it.
  explicit OperatorProfile(const graph::Program& program);

  void ran(size_t item, Clock::time_point start, Clock::time_point end) override;
  /// Records each kernel too.
  void record(trace::Recorder* recorder);

  /// How often it has looked at the clock.
  int64_t looks() const;
  /// [{"layer", "operation", "kernel", "phase", "calls", "seconds", "flops", "bytes"}], in order;
  /// the last three are sums over the calls. Bytes are those of what a kernel reads and writes.
  nlohmann::json to_json() const;

 private:
  struct Spent {
    int64_t calls = 0;
    double seconds = 0;
  };
  const graph::Program& program_;
  std::vector<Spent> spent_;
  trace::Track* track_ = nullptr;
  std::vector<trace::Name> names_;
};

}  // namespace syrtos::train
