#pragma once

#include <vector>

#include "syrtos/trace/clock_alignment.h"
#include "syrtos/world/world.h"

namespace syrtos::strategy {

/// A world's clock and the steady one, in nanoseconds, that traces have.
class WorldClock {
 public:
  explicit WorldClock(const world::World& world);
  int64_t now() const { return steady(world_.now()); }
  int64_t steady(double time) const;
  double of_steady(int64_t time) const;

 private:
  const world::World& world_;
  const int64_t origin_;
};

/// Each rank's steady clock, compared with worker 0's by questions and answers.
class Clocks {
 public:
  /// `spare`: goes on without workers that are lost.
  Clocks(world::World& world, const WorldClock& clock, bool spare);

  /// Worker 0 and these others at the same time. Eight questions each.
  world::Task<> align(const std::vector<world::Rank>& others);

  const WorldClock& clock() const { return clock_; }
  /// This worker's time on worker 0's clock, and back.
  int64_t to_first(int64_t time) const { return time + offset_.offset; }
  int64_t from_first(int64_t time) const { return time - offset_.offset; }
  /// By which the moments of others may be wrong for this worker.
  int64_t error() const { return offset_.error + largest_error_; }
  const std::vector<trace::ClockOffset>& offsets() const { return offsets_; }
  /// A moment on worker 0's clock that all know.
  int64_t origin() const { return origin_; }

 private:
  world::Task<> answer(world::Rank worker);
  world::Task<> ask();

  world::World& world_;
  const WorldClock& clock_;
  const bool spare_;
  uint32_t rounds_ = 0;
  int64_t origin_;
  trace::ClockOffset offset_;                // worker 0's: none
  int64_t largest_error_ = 0;                // of the workers that worker 0 has heard
  std::vector<trace::ClockOffset> offsets_;  // of this run, thinned out
};

}  // namespace syrtos::strategy
