// Which layers another part should have, from what each part was seen to compute.

#include "syrtos/planner/even_parts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/planner/towers.h"

namespace syrtos::planner {
namespace {

using strategy::Split;

/// Eight layers of equal work.
std::shared_ptr<const NetworkGraph> eight_layers() {
  return tower_of(std::vector<int64_t>(8, 64), 64, 0.08).network;
}
Split names(std::vector<std::string> begins) {
  const int parts = static_cast<int>(begins.size()) + 1;
  return {Split::Kind::names, parts, std::move(begins)};
}

TEST(EvenParts, ALayerMovesFromTheSlowPartToItsNeighbour) {
  const auto network = eight_layers();
  const EvenParts even = even_parts(*network, names({"fc5"}), {0.5, 0.3});
  EXPECT_EQ(moves_text(even.moves), "fc4 to part 2");
  EXPECT_EQ(to_string(even.split), "layers:2");
  EXPECT_NEAR(even.slowest_s, 0.4, 0.01);
}

TEST(EvenParts, LayersMoveOnWhereTheSlowPartIsFarFromTheFastOne) {
  const auto network = eight_layers();
  const EvenParts even = even_parts(*network, names({"fc4", "fc6", "fc7"}), {0.4, 0.2, 0.1, 0.1});
  EXPECT_EQ(moves_text(even.moves), "fc2 ... fc3 to part 2, fc4 ... fc5 to part 3, fc6 to part 4");
  EXPECT_NEAR(even.slowest_s, 0.2, 0.01);
}

/// A part with few layers on a slow host: their time is theirs, not their work.
TEST(EvenParts, WhatWasMeasuredCounts) {
  const auto network = eight_layers();
  const EvenParts even = even_parts(*network, Split::layers(2), {0.4, 1.2});
  ASSERT_EQ(even.moves.size(), 1U);
  EXPECT_EQ(even.moves[0].from, 1);
  EXPECT_EQ(even.moves[0].to, 0);
  EXPECT_NEAR(even.slowest_s, 0.9, 0.02);
}

TEST(EvenParts, EvenPartsStayAsTheyAre) {
  const auto network = eight_layers();
  EXPECT_TRUE(even_parts(*network, Split::layers(4), {0.2, 0.2, 0.2, 0.2}).moves.empty());
  EXPECT_TRUE(even_parts(*network, Split::layers(4), {0.2, 0.204, 0.2, 0.2}).moves.empty());
}

TEST(EvenParts, PartsThatAreNotConsecutiveHaveNone) {
  const auto network = eight_layers();
  EXPECT_TRUE(even_parts(*network, names({"fc2=2", "fc6=1"}), {0.6, 0.2}).moves.empty());
}

}  // namespace
}  // namespace syrtos::planner
