#include "syrtos/trace/causality.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

namespace syrtos::trace {

namespace {

struct Departure {
  size_t rank = 0;
  int64_t at = 0;  // on the reference clock
};

/// From which rank to which, and how long after its departure the quickest message arrived.
using Quickest = std::map<std::pair<size_t, size_t>, int64_t>;

template <typename Visit>
void for_each(const RankEvents& rank, Kind kind, const Visit& visit) {
  for (const TrackEvents& track : rank.tracks) {
    for (const Event& event : track.events) {
      if (event.kind == kind) visit(event);
    }
  }
}

Quickest quickest_messages(std::span<const RankEvents> ranks) {
  std::unordered_map<uint64_t, Departure> departures;
  for (size_t i = 0; i < ranks.size(); ++i) {
    for_each(ranks[i], Kind::sent, [&](const Event& event) {
      departures[event.flow] = {i, ranks[i].clock.to_reference(event.start)};
    });
  }
  Quickest result;
  for (size_t i = 0; i < ranks.size(); ++i) {
    for_each(ranks[i], Kind::received, [&](const Event& event) {
      const auto departure = departures.find(event.flow);
      if (departure == departures.end() || departure->second.rank == i) return;
      const int64_t took = ranks[i].clock.to_reference(event.end) - departure->second.at;
      const auto [at, is_new] = result.try_emplace({departure->second.rank, i}, took);
      if (!is_new) at->second = std::min(at->second, took);
    });
  }
  return result;
}

}  // namespace

void order_messages(std::span<RankEvents> ranks) {
  // The file has an arrow's end a nanosecond before the span's: two are the least that shows.
  constexpr int64_t kLeast = 2;
  const Quickest quickest = quickest_messages(ranks);
  std::vector<int64_t> shifts(ranks.size());
  // Longest paths with as many edges as there are ranks: what is not settled then never will be.
  for (size_t pass = 0; pass < ranks.size(); ++pass) {
    for (const auto& [between, took] : quickest) {
      const auto [from, to] = between;
      shifts[to] = std::max(shifts[to], shifts[from] + kLeast - took);
    }
  }
  // Only differences matter: the reference stays, and the others move with it.
  for (size_t i = 0; i < ranks.size(); ++i) ranks[i].clock.shift(shifts[i] - shifts[0]);
}

}  // namespace syrtos::trace
