#pragma once

#include <vector>

#include "syrtos/strategy/options.h"
#include "syrtos/world/tag.h"

namespace syrtos::strategy {

using world::Rank;

/// Who does what: workers are ranks 0 .. workers - 1; servers of their own come after them.
struct Team {
  int workers = 1;
  int servers = 0;  ///< of their own

  int ranks() const { return workers + servers; }
  std::vector<Rank> worker_ranks() const;
  /// How many ranks serve where servers are used: those of their own, or else all workers.
  int serving() const { return servers > 0 ? servers : workers; }
  /// Rank of server k, also where workers serve.
  Rank server_rank(int k) const { return servers > 0 ? workers + k : k; }
  /// Which server this rank is, where it serves.
  int server_index(Rank rank) const { return servers > 0 ? rank - workers : rank; }
};

/// The ranks of a training.
Team team_of(const Options& options, int workers);

}  // namespace syrtos::strategy
