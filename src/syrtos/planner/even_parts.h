#pragma once

#include <string>
#include <vector>

#include "syrtos/planner/network_graph.h"

namespace syrtos::planner {

/// Layers that another part should have, so that all parts compute for about as long.
struct EvenParts {
  /// Consecutive layers, and the parts from 0.
  struct Move {
    std::string first;
    std::string last;
    int from = 0;
    int to = 0;
  };
  strategy::Split split = {};
  std::vector<Move> moves = {};  ///< none: the parts are as even as they can be
  double slowest_s = 0;          ///< what the slowest part would compute then
};

/// Of a network in consecutive parts, of which each was seen to compute for so many seconds. A
/// layer's time is its share of its part's by its work. Of cuts that are as even the one that moves
/// least.
EvenParts even_parts(const NetworkGraph& network, const strategy::Split& split,
                     const std::vector<double>& seconds);

/// "conv3 to part 2, fc1 ... fc3 to part 4".
std::string moves_text(const std::vector<EvenParts::Move>& moves);

}  // namespace syrtos::planner
