#pragma once

#include <cstdint>

namespace syrtos::train {

/// What measuring takes on this machine, found by doing it for less than a millisecond.
struct MeasuringCost {
  double look_s = 0;   ///< at the clock, and writing down what it said
  double event_s = 0;  ///< of a trace

  static MeasuringCost measure();
  double seconds(int64_t looks, int64_t events) const {
    return look_s * static_cast<double>(looks) + event_s * static_cast<double>(events);
  }
};

}  // namespace syrtos::train
