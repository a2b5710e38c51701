#pragma once

#include <optional>
#include <string>
#include <vector>

#include "syrtos/job/job.h"
#include "syrtos/report/explain.h"

namespace syrtos::report {

/// Where a network is in parts: why they wait for each other. Elsewhere they do not.
struct WaitingParts {
  double seconds = 0;  ///< of a step, that the workers wait on average
  std::string text = {};
  std::vector<double> computing = {};  ///< of each part in a step, seconds
  int64_t more_micro_batches = 0;      ///< that would make it shorter; 0: none
  double more_gain = 0;                ///< by what share of the whole time
};
WaitingParts waiting_parts(const Explanation& explanation, const Run& run);

/// A cut whose parts would compute for about as long as each other.
struct EvenerCut {
  std::string split;  ///< as --split takes it
  std::string moves;  ///< which layers other parts would have, in words
  double gain = 0;    ///< by what share of the whole time
};
/// Nothing where parts are even already, or are not consecutive layers.
std::optional<EvenerCut> evener_cut(const WaitingParts& waits, const Explanation& explanation,
                                    const job::Job& job);

}  // namespace syrtos::report
