#pragma once

#include <vector>

#include "syrtos/strategy/options.h"
#include "syrtos/world/tag.h"

namespace syrtos::strategy {

using world::Rank;

/// Who does what: workers are ranks 0 .. workers - 1; servers of their own come after them. Where a
/// network is in parts, neighbours have one copy of it together: a replica.
struct Team {
  int workers = 1;
  int servers = 0;  ///< of their own
  int parts = 1;    ///< of the network, each on a worker of its own

  int ranks() const { return workers + servers; }
  std::vector<Rank> worker_ranks() const;
  int replicas() const { return workers / parts; }
  int part_of(Rank worker) const { return worker % parts; }
  int replica_of(Rank worker) const { return worker / parts; }
  /// The workers that have the same part, replica by replica: gradients are exchanged among them.
  std::vector<Rank> part_ranks(int part) const;
  /// The workers of a replica, part by part: activations are exchanged among them.
  std::vector<Rank> replica_ranks(int replica) const;
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
