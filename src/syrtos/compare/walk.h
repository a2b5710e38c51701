#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "syrtos/compare/timing.h"

namespace syrtos::compare {

/// A number of two sides, and how much of their whole difference it is.
struct Difference {
  std::string name;
  double ours_s = 0;
  double theirs_s = 0;
  double share = 0;  ///< of the difference of the sums; 0 to 1 where both point the same way
};

/// From the total to the operator that explains it, for one peer against ours.
struct Walk {
  Side side;
  double ours_s = 0;  ///< per step: together where that was measured, else alone
  double theirs_s = 0;
  bool together = false;
  bool once = false;              ///< there is no spread to compare with
  bool noise = false;             ///< the difference is within the spread of the measurements
  std::vector<Difference> parts;  ///< load, forward, backward, update, network; largest first
  std::vector<Difference> kinds;  ///< of operators, in common words; largest first
  std::string their_operator;     ///< of the first kind, the one that takes longest
  std::string our_operator;
  std::string text;  ///< all of it in words
};

/// One for each peer and mode that was measured.
std::vector<Walk> walk_down(const NetworkTimes& times);

/// Kinds of both, with the two gradients of convolutions as one where a side knows no difference.
std::vector<Difference> kinds_of(const SideTimes& ours, const SideTimes& theirs);

nlohmann::json to_json(const NetworkTimes& times);
std::string times_text(const NetworkTimes& times);

}  // namespace syrtos::compare
