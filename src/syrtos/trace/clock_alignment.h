#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace syrtos::trace {

/// One question and answer between two clocks, in nanoseconds: t0 asked (here), t1 asked arrived
/// (there), t2 answered (there), t3 answer arrived (here).
struct ClockSample {
  int64_t t0 = 0, t1 = 0, t2 = 0, t3 = 0;

  /// That the messages were on their way, both directions together.
  int64_t round_trip() const { return (t3 - t0) - (t2 - t1); }
};

/// At the local time `at`, the other clock shows at + offset, give or take error. Nanoseconds.
struct ClockOffset {
  int64_t at = 0;
  int64_t offset = 0;
  int64_t error = 0;

  /// The same fact seen from the other clock.
  ClockOffset inverse() const { return {at + offset, -offset, error}; }
  bool operator==(const ClockOffset&) const = default;
};

/// As NTP does it: of the sample with the smallest round trip, offset = ((t1-t0) + (t2-t3)) / 2,
/// which is wrong by at most half that round trip, however unequal the two ways are. Samples that
/// no clocks can give (answered before asked) are left out; throws RunError when none is left.
ClockOffset measure_offset(std::span<const ClockSample> samples);

/// Local times to those of the reference clock (rank 0's), in nanoseconds. Between two measured
/// offsets it drifts evenly; before the first and after the last it stays.
class ClockMap {
 public:
  ClockMap() = default;  // the same clock
  /// In any order. Throws RunError when a clock would run backwards between two of them.
  explicit ClockMap(std::vector<ClockOffset> offsets);

  int64_t to_reference(int64_t time) const;
  /// Times of the reference become this much later.
  void shift(int64_t nanoseconds);
  /// The largest of the measured errors.
  int64_t error() const;
  /// Nanoseconds per second that the reference gains, between the first and the last offset.
  double drift() const;
  std::span<const ClockOffset> offsets() const { return offsets_; }
  bool operator==(const ClockMap&) const = default;

 private:
  std::vector<ClockOffset> offsets_;  // by time
};

}  // namespace syrtos::trace
