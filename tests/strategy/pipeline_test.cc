// Schedules of pipelines: whatever the parts, nobody waits for ever, and a pass takes as long as
// the formula says.

#include "syrtos/strategy/pipeline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

#include "syrtos/base/error.h"

namespace syrtos::strategy {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr double kForward = 1;
constexpr double kBackward = 2;

/// Parts that compute as soon as they have what they need.
struct Played {
  bool complete = true;  ///< nobody waits for ever
  double seconds = 0;
};

using Needs = std::vector<std::vector<int>>;  ///< of each piece: pieces that it needs first

/// Piece k of the network is the (k / parts)th of part k % parts; messages take no time.
Played play(const std::vector<std::vector<Turn>>& turns, const Needs& needs, double pieces = 1) {
  const auto parts = static_cast<int>(turns.size());
  Needs users(needs.size());
  for (size_t piece = 0; piece < needs.size(); ++piece) {
    for (const int from : needs[piece]) {
      users[static_cast<size_t>(from)].push_back(static_cast<int>(piece));
    }
  }
  std::map<std::tuple<bool, int, int>, double> done;  // backward, piece, micro -> when
  std::vector<size_t> at(turns.size());
  std::vector<double> free(turns.size());
  for (bool moved = true; moved;) {
    moved = false;
    for (size_t part = 0; part < turns.size(); ++part) {
      while (at[part] < turns[part].size()) {
        const Turn& turn = turns[part][at[part]];
        const int piece = turn.piece * parts + static_cast<int>(part);
        double start = free[part];
        bool ready = true;
        const auto wait_for = [&](bool backward, int other) {
          const auto found = done.find({backward, other, turn.micro});
          if (found == done.end()) {
            ready = false;
          } else {
            start = std::max(start, found->second);
          }
        };
        for (const int other : (turn.backward ? users : needs)[static_cast<size_t>(piece)]) {
          wait_for(turn.backward, other);
        }
        if (turn.backward) wait_for(false, piece);
        if (!ready) break;
        free[part] = start + (turn.backward ? kBackward : kForward) / pieces;
        done[{turn.backward, piece, turn.micro}] = free[part];
        ++at[part];
        moved = true;
      }
    }
  }
  Played played;
  for (size_t part = 0; part < turns.size(); ++part) {
    played.complete = played.complete && at[part] == turns[part].size();
  }
  played.seconds = *std::max_element(free.begin(), free.end());
  return played;
}

Needs chain(int pieces) {
  Needs needs(static_cast<size_t>(pieces));
  for (int piece = 1; piece < pieces; ++piece) needs[static_cast<size_t>(piece)] = {piece - 1};
  return needs;
}

std::vector<std::vector<Turn>> all_turns(const Pipeline& pipeline, const std::vector<int>& ahead,
                                         int micros) {
  const auto parts = static_cast<int>(ahead.size());
  std::vector<std::vector<Turn>> turns;
  for (int part = 0; part < parts; ++part) {
    turns.push_back(turns_of(pipeline, {part, parts, ahead[static_cast<size_t>(part)]}, micros));
  }
  return turns;
}

/// Each micro-batch goes forward and then backward through each piece, once.
void expect_whole(const std::vector<Turn>& turns, int micros, int pieces) {
  ASSERT_EQ(turns.size(), static_cast<size_t>(2 * micros * pieces));
  for (int piece = 0; piece < pieces; ++piece) {
    int forward = 0;
    int backward = 0;
    for (const Turn& turn : turns) {
      if (turn.piece != piece) continue;
      EXPECT_EQ(turn.micro, turn.backward ? backward++ : forward++);
      EXPECT_LE(backward, forward);
    }
    EXPECT_EQ(forward, micros);
    EXPECT_EQ(backward, micros);
  }
}

TEST(Pipeline, OfPartsInARowTakesAsLongAsTheFormulaSays) {
  for (int parts = 1; parts <= 8; ++parts) {
    for (int micros = 1; micros <= 20; ++micros) {
      for (const char* name : {"fill-drain", "1f1b"}) {
        SCOPED_TRACE(std::string(name) + ", " + std::to_string(parts) + " parts, " +
                     std::to_string(micros) + " micro-batches");
        const Pipeline pipeline = parse_pipeline(name);
        const Needs needs = chain(parts);
        const auto turns = all_turns(pipeline, stations_ahead(needs), micros);
        for (const auto& one : turns) expect_whole(one, micros, 1);
        const Played played = play(turns, needs);
        ASSERT_TRUE(played.complete);
        EXPECT_NEAR(played.seconds, (kForward + kBackward) * (micros + parts - 1), 1e-9);
        for (int part = 0; part < parts; ++part) {
          const int kept = most_in_flight(turns[static_cast<size_t>(part)], 0);
          EXPECT_EQ(kept, pipeline.kind == Pipeline::Kind::fill_drain
                              ? micros
                              : std::min(micros, 2 * (parts - part) - 1));
        }
      }
    }
  }
}

TEST(Pipeline, InterleavedWaitsLessTheMorePiecesThereAre) {
  for (int parts = 2; parts <= 6; ++parts) {
    for (int pieces = 2; pieces <= 4; ++pieces) {
      for (int rounds = 1; rounds <= 4; ++rounds) {
        const int micros = rounds * parts;
        SCOPED_TRACE(std::to_string(parts) + " parts of " + std::to_string(pieces) + " pieces, " +
                     std::to_string(micros) + " micro-batches");
        const Needs needs = chain(parts * pieces);
        const auto turns = all_turns({Pipeline::Kind::interleaved, pieces},
                                     std::vector<int>(static_cast<size_t>(parts), 1), micros);
        for (const auto& one : turns) expect_whole(one, micros, pieces);
        const Played played = play(turns, needs, pieces);
        ASSERT_TRUE(played.complete);
        const double all = kForward + kBackward;
        EXPECT_NEAR(played.seconds, all * (micros + (parts - 1.0) / pieces), 1e-9);
      }
    }
  }
}

/// Branches that join, stems that fork, parts that are left out: all that goes one way.
TEST(Pipeline, OfAnyPartsThatGoOneWayComesToItsEnd) {
  for (uint32_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    const int parts = 1 + static_cast<int>(random() % 8);
    const int micros = 1 + static_cast<int>(random() % 12);
    Needs needs(static_cast<size_t>(parts));
    for (int part = 1; part < parts; ++part) {
      for (int from = 0; from < part; ++from) {
        if (random() % 3 == 0) needs[static_cast<size_t>(part)].push_back(from);
      }
    }
    const std::vector<int> ahead = stations_ahead(needs);
    ASSERT_EQ(ahead.size(), needs.size());
    for (const char* name : {"fill-drain", "1f1b"}) {
      EXPECT_TRUE(play(all_turns(parse_pipeline(name), ahead, micros), needs).complete) << name;
    }
  }
}

TEST(Pipeline, KnowsHowManyAreOnTheirWay) {
  EXPECT_THAT(stations_ahead(chain(4)), ElementsAre(7, 5, 3, 1));
  // Four branches and a join; a fork in which one way is longer; parts that need each other.
  EXPECT_THAT(stations_ahead({{}, {}, {}, {}, {0, 1, 2, 3}}), ElementsAre(3, 3, 3, 3, 1));
  EXPECT_THAT(stations_ahead({{}, {0}, {1}, {0, 2}}), ElementsAre(7, 5, 3, 1));
  EXPECT_THAT(stations_ahead({{1}, {0}}), ElementsAre());
}

TEST(Pipeline, OfOneWorkerIsOneMicroBatchAfterTheOther) {
  EXPECT_THAT(turns_of({}, {}, 2),
              ElementsAre(Turn{false, 0}, Turn{true, 0}, Turn{false, 1}, Turn{true, 1}));
}

TEST(Pipeline, IsReadAndWritten) {
  for (const char* name : {"fill-drain", "1f1b", "interleaved:3"}) {
    EXPECT_EQ(to_string(parse_pipeline(name)), name);
  }
  for (const char* bad : {"interleaved:1", "interleaved:", "interleaved:2x", "interleaved:65"}) {
    EXPECT_THROW(parse_pipeline(bad), RequestError) << bad;
  }
  try {
    parse_pipeline("1f2b");
    FAIL();
  } catch (const RequestError& error) {
    EXPECT_THAT(error.what(), HasSubstr("'1f1b'"));
  }
}

}  // namespace
}  // namespace syrtos::strategy
