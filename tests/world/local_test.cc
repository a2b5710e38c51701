#include "syrtos/world/local/local.h"

#include "tests/world/conformance.h"

namespace syrtos::world {
namespace {

INSTANTIATE_TEST_SUITE_P(Local, WorldConformance,
                         testing::Values(WorldKind{"local", [](int ranks) {
                                                     return std::make_unique<LocalCluster>(ranks);
                                                   }}));

Task<> wait_for_each_other(World& world) {
  co_await expect_values(world, 1 - world.rank(), test_tag(), ramp(1, 1));
}

TEST(LocalCluster, ADeadlockIsReportedAtOnce) {
  LocalCluster cluster(2);
  const auto errors = cluster.run(wait_for_each_other);
  EXPECT_TRUE(is_a<DeadlinePassed>(errors[0])) << text_of(errors[0]);
  EXPECT_TRUE(is_a<PeerLost>(errors[1])) << text_of(errors[1]);  // rank 0 has failed
}

Task<> wait_for_nobody(World& world) {
  Event event(world);
  co_await event.wait();
}

TEST(LocalCluster, AnEventThatNobodySetsEndsTheRun) {
  LocalCluster cluster(2);
  for (const auto& error : cluster.run(wait_for_nobody)) {
    EXPECT_TRUE(is_a<DeadlinePassed>(error)) << text_of(error);
  }
}

}  // namespace
}  // namespace syrtos::world
