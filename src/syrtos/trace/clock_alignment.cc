#include "syrtos/trace/clock_alignment.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "syrtos/base/error.h"

namespace syrtos::trace {

namespace {

// Longer than any run, short enough that sums cannot overflow.
constexpr int64_t kLongest = int64_t{1} << 60;

bool within(int64_t time) { return time > -kLongest && time < kLongest; }

bool possible(const ClockSample& sample) {
  return within(sample.t0) && within(sample.t1) && within(sample.t2) && within(sample.t3) &&
         sample.t3 >= sample.t0 && sample.t2 >= sample.t1 && sample.round_trip() >= 0;
}

}  // namespace

ClockOffset measure_offset(std::span<const ClockSample> samples) {
  const ClockSample* best = nullptr;
  for (const ClockSample& sample : samples) {
    if (!possible(sample)) continue;
    if (best == nullptr || sample.round_trip() < best->round_trip()) best = &sample;
  }
  if (best == nullptr) {
    fail_run(
        "cannot compare two clocks: expected times of a question and its answer, found none among "
        "{} samples that two running clocks can give",
        samples.size());
  }
  const int64_t there = best->t1 + (best->t2 - best->t1) / 2;
  const int64_t here = best->t0 + (best->t3 - best->t0) / 2;
  // Half of the round trip, rounded up; one more for the two halves above.
  return {here, there - here, (best->round_trip() + 1) / 2 + 1};
}

ClockMap::ClockMap(std::vector<ClockOffset> offsets) : offsets_(std::move(offsets)) {
  std::sort(offsets_.begin(), offsets_.end(),
            [](const ClockOffset& a, const ClockOffset& b) { return a.at < b.at; });
  for (const ClockOffset& offset : offsets_) {
    if (!within(offset.at) || !within(offset.offset) || offset.error < 0) {
      fail_run("clock offset {} ns (error {} ns) at {} ns is none that was measured", offset.offset,
               offset.error, offset.at);
    }
  }
  for (size_t i = 1; i < offsets_.size(); ++i) {
    const ClockOffset &before = offsets_[i - 1], &after = offsets_[i];
    if (after.at + after.offset <= before.at + before.offset) {
      fail_run(
          "clock offsets contradict each other: {} ns at {} ns and {} ns at {} ns would make time "
          "stand still or run backwards",
          before.offset, before.at, after.offset, after.at);
    }
  }
}

int64_t ClockMap::to_reference(int64_t time) const {
  if (offsets_.empty()) return time;
  if (time <= offsets_.front().at) return time + offsets_.front().offset;
  if (time >= offsets_.back().at) return time + offsets_.back().offset;
  const auto after =
      std::upper_bound(offsets_.begin(), offsets_.end(), time,
                       [](int64_t value, const ClockOffset& offset) { return value < offset.at; });
  const auto before = after - 1;
  const double share =
      static_cast<double>(time - before->at) / static_cast<double>(after->at - before->at);
  const double gained = share * static_cast<double>(after->offset - before->offset);
  return time + before->offset + static_cast<int64_t>(std::llround(gained));
}

void ClockMap::shift(int64_t nanoseconds) {
  if (offsets_.empty() && nanoseconds != 0) offsets_.emplace_back();
  for (ClockOffset& offset : offsets_) offset.offset += nanoseconds;
}

int64_t ClockMap::error() const {
  int64_t largest = 0;
  for (const ClockOffset& offset : offsets_) largest = std::max(largest, offset.error);
  return largest;
}

double ClockMap::drift() const {
  if (offsets_.size() < 2) return 0;
  const double gained = static_cast<double>(offsets_.back().offset - offsets_.front().offset);
  return gained * 1e9 / static_cast<double>(offsets_.back().at - offsets_.front().at);
}

}  // namespace syrtos::trace
