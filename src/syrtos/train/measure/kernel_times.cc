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

KernelTimes::KernelTimes(const Program& program, int64_t runs_per_step)
    : program_(program), runs_per_step_(runs_per_step), spent_(program.items().size()) {}

void KernelTimes::ran(size_t item, Clock::time_point start, Clock::time_point end) {
  Spent& spent = spent_[item];
  const double seconds = std::chrono::duration<double>(end - start).count();
  ++spent.calls;
  spent.seconds += seconds;
  spent.longest = std::max(spent.longest, seconds);
  if (track_ != nullptr) track_->span(names_[item], nanoseconds(start), nanoseconds(end));
}

void KernelTimes::record(trace::Recorder* recorder) {
  names_.clear();
  for (const Program::Item& item : program_.items()) {
    names_.push_back(trace::name_of(
        recorder, item.layer.empty() ? item.operation : item.layer + " " + item.operation,
        item.phase == graph::Phase::forward ? "forward" : "backward"));
  }
  track_ = trace::track_of(recorder, "compute");
}

int64_t KernelTimes::looks() const {
  int64_t looks = 0;
  for (const Spent& spent : spent_) looks += spent.calls;
  return looks;
}

std::vector<run::OperatorItem> KernelTimes::items() const {
  std::vector<run::OperatorItem> all;
  for (size_t i = 0; i < spent_.size(); ++i) {
    if (spent_[i].calls == 0) continue;
    const Program::Item& item = program_.items()[i];
    const auto runs = static_cast<double>(spent_[i].calls);
    all.push_back({.layer = item.layer,
                   .operation = item.operation,
                   .kernel = std::string(item.kernel->implementation()),
                   .phase = item.phase == graph::Phase::forward ? "forward" : "backward",
                   .calls = std::max<int64_t>(1, spent_[i].calls / runs_per_step_),
                   .seconds = spent_[i].seconds,
                   .longest = spent_[i].longest,
                   .flops = item.flops * runs,
                   .bytes = bytes_of(program_, item) * runs});
  }
  return all;
}

}  // namespace syrtos::train
