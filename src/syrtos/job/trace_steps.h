#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace syrtos::job {

/// Steps whose events are recorded, from 1; none, unless somebody wants them.
struct TraceSteps {
  int64_t first = 0;
  int64_t last = -1;

  bool any() const { return last >= first; }
  bool contains(int64_t step) const { return first <= step && step <= last; }
  bool operator==(const TraceSteps&) const = default;
};

/// "none", "all", "steps=100" or "steps=100..110".
std::string to_string(const TraceSteps& steps);
/// Throws RequestError.
TraceSteps parse_trace(std::string_view text);

}  // namespace syrtos::job
