#include "syrtos/train/measure/kernel_times.h"

#include <algorithm>
#include <chrono>

namespace syrtos::train {

using graph::Program;

namespace {

int64_t nanoseconds(Clock::time_point time) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(time.time_since_epoch()).count();
}

double bytes_of(const Program& program, const Program::Item& item) {
  double bytes = static_cast<double>(item.sums.size_bytes());
  for (const auto* values : {&item.inputs, &item.outputs}) {
    for (const graph::ValueId id : *values) {
      if (id == graph::kNone) continue;
      const Program::Placed& placed = program.placed(id);
      bytes += static_cast<double>(placed.layout.bytes(placed.type));
    }
  }
  return bytes;
}

}  // namespace

KernelTimes::KernelTimes(std::vector<const Program*> programs, int64_t runs_per_step)
    : runs_per_step_(runs_per_step) {
  for (const Program* program : programs) pieces_.emplace_back(*program);
}

void KernelTimes::Piece::ran(size_t item, Clock::time_point start, Clock::time_point end) {
  Spent& one = spent[item];
  const double seconds = std::chrono::duration<double>(end - start).count();
  ++one.calls;
  one.seconds += seconds;
  one.longest = std::max(one.longest, seconds);
  if (track != nullptr) track->span(names[item], nanoseconds(start), nanoseconds(end));
}

void KernelTimes::record(trace::Recorder* recorder) {
  trace::Track* track = trace::track_of(recorder, "compute");
  for (Piece& piece : pieces_) {
    piece.names.clear();
    for (const Program::Item& item : piece.program.items()) {
      piece.names.push_back(trace::name_of(
          recorder, item.layer.empty() ? item.operation : item.layer + " " + item.operation,
          item.phase == graph::Phase::forward ? "forward" : "backward"));
    }
    piece.track = track;
  }
}

int64_t KernelTimes::looks() const {
  int64_t looks = 0;
  for (const Piece& piece : pieces_) {
    for (const Spent& spent : piece.spent) looks += spent.calls;
  }
  return looks;
}

std::vector<run::OperatorItem> KernelTimes::items() const {
  std::vector<run::OperatorItem> all;
  for (const Piece& piece : pieces_) {
    for (size_t i = 0; i < piece.spent.size(); ++i) {
      const Spent& spent = piece.spent[i];
      if (spent.calls == 0) continue;
      const Program::Item& item = piece.program.items()[i];
      const auto runs = static_cast<double>(spent.calls);
      all.push_back({.layer = item.layer,
                     .operation = item.operation,
                     .kernel = std::string(item.kernel->implementation()),
                     .phase = item.phase == graph::Phase::forward ? "forward" : "backward",
                     .calls = std::max<int64_t>(1, spent.calls / runs_per_step_),
                     .seconds = spent.seconds,
                     .longest = spent.longest,
                     .flops = item.flops * runs,
                     .bytes = bytes_of(piece.program, item) * runs});
    }
  }
  return all;
}

}  // namespace syrtos::train
