#pragma once

#include <chrono>

namespace syrtos {

/// For measuring: it never goes back.
using Clock = std::chrono::steady_clock;

inline double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

}  // namespace syrtos
