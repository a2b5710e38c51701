#include "syrtos/strategy/team.h"

#include <numeric>

namespace syrtos::strategy {

std::vector<Rank> Team::worker_ranks() const {
  std::vector<Rank> ranks(static_cast<size_t>(workers));
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

Team team_of(const Options& options, int workers) {
  return {.workers = workers, .servers = options.exchange.own_servers()};
}

}  // namespace syrtos::strategy
