#pragma once

#include <cstddef>
#include <vector>

#include "syrtos/world/tag.h"

// Who measures with whom, and what follows from it: pure functions, the same on every rank.

namespace syrtos::planner {

using world::Rank;

/// One rank and those it exchanges with, all at once. Without partners it computes.
struct Meeting {
  Rank centre = 0;
  std::vector<Rank> partners = {};

  bool has(Rank rank) const;
};

/// Meetings of different ranks, which run at the same time.
using Turn = std::vector<Meeting>;

/// A turn for each meeting; beyond `most_turns` several at a time, so that the time no longer grows
/// with the number of ranks.
std::vector<Turn> turns_of(const std::vector<Meeting>& meetings, size_t most_turns);

std::vector<Meeting> everybody_alone(int ranks);
/// Each rank with those that follow at the distances 1 to `most`, every pair once.
std::vector<Meeting> pairs_in_ring(int ranks, int most);
/// Each rank with the `most` fastest others: more than one of them can give.
std::vector<Meeting> fans(const std::vector<double>& bandwidth, int most);

/// What one rank measured in one turn.
struct Figure {
  double value = 0;   ///< 0: it had no part
  double spread = 0;  ///< relative
};
/// [rank][turn]
using Figures = std::vector<std::vector<Figure>>;

/// Median of the pairs that it had part in.
std::vector<double> latencies(const std::vector<Turn>& turns, const Figures& figures);
/// An exchange is as fast as the slower of its two ends and directions: a rank's bandwidth is what
/// it reached with its fastest partner or, where no single one can fill its link, with several.
std::vector<double> bandwidths(const std::vector<Turn>& turns, const Figures& figures,
                               std::vector<double> so_far, double clearly);

}  // namespace syrtos::planner
