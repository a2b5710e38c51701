#pragma once

#include <string>

#include "syrtos/report/explain.h"

namespace syrtos::report {

/// Where a network is in parts: why they wait for each other. Elsewhere they do not.
struct WaitingParts {
  double seconds = 0;  ///< of a step, that the workers wait on average
  std::string text = {};
  bool unequal = false;            ///< one part computes far longer than the others
  int64_t more_micro_batches = 0;  ///< that would make it shorter; 0: none
  double more_gain = 0;            ///< by what share of the whole time
};
WaitingParts waiting_parts(const Explanation& explanation, const Run& run);

}  // namespace syrtos::report
