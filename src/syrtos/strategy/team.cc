#include "syrtos/strategy/team.h"

#include <numeric>

namespace syrtos::strategy {

std::vector<Rank> Team::worker_ranks() const {
  std::vector<Rank> ranks(static_cast<size_t>(workers));
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

std::vector<Rank> Team::part_ranks(int part) const {
  std::vector<Rank> ranks;
  for (Rank rank = part; rank < workers; rank += parts) ranks.push_back(rank);
  return ranks;
}

std::vector<Rank> Team::replica_ranks(int replica) const {
  std::vector<Rank> ranks(static_cast<size_t>(parts));
  std::iota(ranks.begin(), ranks.end(), replica * parts);
  return ranks;
}

Team team_of(const Options& options, int workers) {
  return {
      .workers = workers, .servers = options.exchange.own_servers(), .parts = options.split.parts};
}

}  // namespace syrtos::strategy
