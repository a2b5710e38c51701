// The tests of conformance.h: every world's own test instantiates them.

#include "tests/world/conformance.h"

namespace syrtos::world {

TEST_P(WorldConformance, MessagesGoAroundInEverySize) {
  for (const size_t elements : {size_t{0}, size_t{1}, size_t{1000}, size_t{300'001}}) {
    run_well(3, [&](World& world) { return pass_around(world, elements, 3); });
  }
}

TEST_P(WorldConformance, LargeMessagesCrossInBothDirectionsAtOnce) {
  run_well(2, [](World& world) { return pass_around(world, 4'000'000, 2); });
}

TEST_P(WorldConformance, ManySmallMessagesArrive) {
  run_well(2, [](World& world) { return pass_around(world, 3, 2000); });
}

TEST_P(WorldConformance, MessagesOfOneLaneKeepTheirOrder) { run_well(2, keep_order); }

TEST_P(WorldConformance, LanesDoNotWaitForEachOther) { run_well(2, cross_lanes); }

TEST_P(WorldConformance, ARankSendsToItself) {
  run_well(1, [](World& world) { return pass_around(world, 1000, 3); });
}

TEST_P(WorldConformance, MessagesAreStoredAddedAndWidenedAsTheyLand) {
  run_well(2, land_in_every_way);
}

TEST_P(WorldConformance, EveryElementIsReducedInEveryWayAsItLands) {
  run_well(2, reduce_in_every_way);
}

TEST_P(WorldConformance, AnotherSizeThanExpectedIsNamed) {
  if (!GetParam().survives_losses) GTEST_SKIP() << "MPI ends every rank when one fails";
  const auto errors = run(2, send_other_size);
  EXPECT_TRUE(is_a<Mismatch>(errors[1])) << text_of(errors[1]);
  EXPECT_NE(text_of(errors[1]).find("44 B"), std::string::npos) << text_of(errors[1]);
  EXPECT_NE(text_of(errors[1]).find("40 B"), std::string::npos) << text_of(errors[1]);
}

TEST_P(WorldConformance, AnotherRoundThanExpectedIsNamed) {
  if (!GetParam().survives_losses) GTEST_SKIP() << "MPI ends every rank when one fails";
  const auto errors = run(2, send_other_round);
  EXPECT_TRUE(is_a<Mismatch>(errors[1])) << text_of(errors[1]);
  EXPECT_NE(text_of(errors[1]).find("round 8"), std::string::npos) << text_of(errors[1]);
  EXPECT_NE(text_of(errors[1]).find("round 7"), std::string::npos) << text_of(errors[1]);
}

TEST_P(WorldConformance, ARankThatFailsIsLostToTheOthers) {
  if (!GetParam().survives_losses) GTEST_SKIP() << "MPI ends every rank when one fails";
  const auto errors = run(3, fail_on_rank_1);
  EXPECT_EQ(text_of(errors[1]), "on purpose");
  for (const size_t rank : {0, 2}) {
    EXPECT_TRUE(is_a<PeerLost>(errors[rank])) << text_of(errors[rank]);
    EXPECT_EQ(text_of(errors[rank]).find("rank 1 on "), 0U) << text_of(errors[rank]);
  }
}

TEST_P(WorldConformance, TheOthersGoOnWithoutALostRank) {
  if (!GetParam().survives_losses) GTEST_SKIP() << "MPI ends every rank when one fails";
  const auto errors = run(3, go_on_without_rank_1);
  EXPECT_EQ(text_of(errors[0]), "");
  EXPECT_EQ(text_of(errors[2]), "");
}

TEST_P(WorldConformance, ACancelledWaitLeavesNothingBehind) { run_well(2, cancel_a_wait); }

TEST_P(WorldConformance, AWaitEndsAtItsDeadlineAndSaysForWhat) { run_well(2, wait_too_long); }

TEST_P(WorldConformance, SleepersWakeInOrder) { run_well(2, sleep_in_order); }

TEST_P(WorldConformance, WorkIsDoneAndItsErrorsComeBack) { run_well(2, compute_something); }

TEST_P(WorldConformance, TrafficIsCounted) { run_well(3, count_traffic); }

}  // namespace syrtos::world
