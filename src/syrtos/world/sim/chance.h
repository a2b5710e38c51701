#pragma once

#include <cstddef>
#include <cstdint>

#include "syrtos/world/sim/options.h"

namespace syrtos::world {

/// What a seed decides. Each answer depends on the rank and the number of its message or piece of
/// computing alone, so that other ranks' doings do not change it.
class Chance {
 public:
  Chance(const SimFaults& faults, uint64_t seed) : faults_(faults), seed_(seed) {}

  /// By how many seconds a rank's message comes later.
  double delay(Rank rank, uint64_t message, double bytes) const;
  /// A number of the standard normal distribution for a message from one rank to another.
  double share(Rank from, Rank to, uint32_t message) const;
  /// By how much a rank's computing takes longer: 1 on average, unless it is slow by a fault.
  double slowness(Rank rank, uint64_t job, double jitter) const;

 private:
  struct Draw {
    double first;  // both in (0, 1)
    double second;
  };
  enum class Subject : uint32_t { message, jitter, slow, share };
  static double normal_of(const Draw& draw);
  Draw draw(Subject subject, Rank rank, uint64_t number) const;

  const SimFaults& faults_;
  const uint64_t seed_;
};

}  // namespace syrtos::world
