#include "syrtos/trace/causality.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <random>
#include <utility>
#include <vector>

namespace syrtos::trace {
namespace {

RankEvents rank_with(int rank, int64_t offset, std::vector<Event> events) {
  RankEvents result;
  result.rank = rank;
  result.tracks.push_back({.name = "network", .events = std::move(events)});
  if (rank > 0) result.clock = ClockMap({{.at = 0, .offset = offset, .error = 1000}});
  return result;
}

Event sent(int64_t at, uint64_t flow) {
  return {.start = at, .end = at + 10, .flow = flow, .kind = Kind::sent};
}
Event received(int64_t at, uint64_t flow) {
  return {.start = at - 10, .end = at, .flow = flow, .kind = Kind::received};
}

/// Reference times between departure and arrival, of the message that seems the quickest.
int64_t quickest(const std::vector<RankEvents>& ranks) {
  std::map<uint64_t, int64_t> departures;
  int64_t least = INT64_MAX;
  for (const RankEvents& rank : ranks) {
    for (const Event& event : rank.tracks[0].events) {
      if (event.kind == Kind::sent) departures[event.flow] = rank.clock.to_reference(event.start);
    }
  }
  for (const RankEvents& rank : ranks) {
    for (const Event& event : rank.tracks[0].events) {
      if (event.kind != Kind::received) continue;
      least = std::min(least, rank.clock.to_reference(event.end) - departures.at(event.flow));
    }
  }
  return least;
}

TEST(Causality, AMessageThatSeemsToArriveTooEarlyMovesTheClockOfItsReceiver) {
  std::vector<RankEvents> ranks = {rank_with(0, 0, {sent(1000, 1), received(5000, 2)}),
                                   rank_with(1, -300, {received(1100, 1), sent(2000, 2)})};
  order_messages(ranks);
  EXPECT_EQ(ranks[0].clock, ClockMap());
  EXPECT_EQ(ranks[1].clock.to_reference(1100), 1002) << "no more than is needed";
}

TEST(Causality, OneThatSeemsToArriveTooEarlyAtTheReferenceMovesTheSender) {
  std::vector<RankEvents> ranks = {rank_with(0, 0, {received(1100, 1)}),
                                   rank_with(1, 300, {sent(1000, 1)})};
  order_messages(ranks);
  EXPECT_EQ(ranks[1].clock.to_reference(1000), 1098);
}

TEST(Causality, ClocksThatFitStay) {
  std::vector<RankEvents> ranks = {rank_with(0, 0, {sent(1000, 1)}),
                                   rank_with(1, 70, {received(1100, 1)})};
  const std::vector<RankEvents> before = ranks;
  order_messages(ranks);
  EXPECT_EQ(ranks, before);
}

TEST(Causality, AnyClocksWithWrongOffsetsAreSettled) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    const int count = 2 + static_cast<int>(random() % 6);
    std::vector<std::vector<Event>> events(count);
    for (uint64_t flow = 0; flow < 200; ++flow) {
      const int from = static_cast<int>(random() % count);
      const int to = static_cast<int>((from + 1 + random() % (count - 1)) % count);
      const auto at = static_cast<int64_t>(random() % 1'000'000);
      events[from].push_back(sent(at, flow));
      events[to].push_back(received(at + 20 + static_cast<int64_t>(random() % 100), flow));
    }
    std::vector<RankEvents> ranks;
    for (int rank = 0; rank < count; ++rank) {
      const auto wrong = static_cast<int64_t>(random() % 1000) - 500;
      ranks.push_back(rank_with(rank, wrong, events[rank]));
    }
    order_messages(ranks);
    EXPECT_GE(quickest(ranks), 2) << "seed " << seed;
    EXPECT_EQ(ranks[0].clock, ClockMap());
  }
}

}  // namespace
}  // namespace syrtos::trace
