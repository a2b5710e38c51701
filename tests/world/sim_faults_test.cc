#include <gtest/gtest.h>

#include "tests/world/sim_programs.h"

namespace syrtos::world {
namespace {

// 100 bytes/s and half a second of latency.
SimOptions slow_cluster(int hosts) {
  SimOptions options = uniform_cluster(hosts, 100, 0.5);
  options.carry_data = false;
  return options;
}

constexpr Tag tag_of(uint16_t item) { return {Purpose::control, item, 0}; }

/// What a wait ended with, and when.
struct Outcome {
  double at = -1;
  std::string error;  ///< "lost", "deadline", or none
};

Task<> note_outcome(World& world, Task<> task, Outcome& outcome) {
  try {
    co_await task;
  } catch (const PeerLost&) {
    outcome.error = "lost";
  } catch (const DeadlinePassed&) {
    outcome.error = "deadline";
  }
  outcome.at = world.now();
}

struct CrashOutcomes {
  Outcome before;      ///< what left before the crash
  Outcome during;      ///< what was flowing
  Outcome to_it;       ///< what flowed to it
  Outcome afterwards;  ///< a wait that begins later
};

Task<> live_through_a_crash(World& world, CrashOutcomes& outcomes) {
  if (world.rank() == 1) {
    co_await send_size(world, 0, tag_of(0), 100);
    co_await send_size(world, 0, tag_of(1), 1000);
    ADD_FAILURE() << "it should have crashed";
    co_return;
  }
  std::vector<Started> waits;
  const auto wait = [&](Task<> task, Outcome& outcome) {
    waits.emplace_back(world, note_outcome(world, std::move(task), outcome));
  };
  wait(recv_size(world, 1, tag_of(0), 100), outcomes.before);
  wait(recv_size(world, 1, tag_of(1), 1000), outcomes.during);
  wait(send_size(world, 1, tag_of(2), 1000), outcomes.to_it);
  co_await join_all(world, waits);
  EXPECT_TRUE(world.is_lost(1));
  co_await note_outcome(world, recv_size(world, 1, tag_of(3), 1), outcomes.afterwards);
}

TEST(SimFaults, ACrashIsSeenOneLatencyLaterAfterWhatWasSent) {
  SimOptions options = slow_cluster(2);
  options.faults.crashes = {{.rank = 1, .at = 1.25}};
  SimCluster cluster(options);
  CrashOutcomes outcomes;
  const auto errors =
      cluster.run([&](World& world) { return live_through_a_crash(world, outcomes); });
  EXPECT_EQ(errors[0], nullptr);
  EXPECT_THROW(std::rethrow_exception(errors[1]), PeerLost);
  EXPECT_EQ(outcomes.before.error, "");
  EXPECT_DOUBLE_EQ(outcomes.before.at, 1.5);
  EXPECT_EQ(outcomes.during.error, "lost");
  EXPECT_DOUBLE_EQ(outcomes.during.at, 1.75);
  EXPECT_EQ(outcomes.to_it.error, "lost");
  EXPECT_DOUBLE_EQ(outcomes.to_it.at, 1.75);
  EXPECT_EQ(outcomes.afterwards.error, "lost");
  EXPECT_DOUBLE_EQ(outcomes.afterwards.at, 1.75);
}

TEST(SimFaults, ADelayedMessageOfACrashedRankComesBeforeItsLoss) {
  SimOptions options = slow_cluster(2);
  options.faults.loss = 0.999999;  // every message loses a packet
  options.faults.retransmit_after = 20;
  options.faults.crashes = {{.rank = 1, .at = 1.25}};
  SimCluster cluster(options);
  CrashOutcomes outcomes;
  cluster.run([&](World& world) { return live_through_a_crash(world, outcomes); });
  EXPECT_EQ(outcomes.before.error, "");
  EXPECT_DOUBLE_EQ(outcomes.before.at, 21.5);
  EXPECT_EQ(outcomes.during.error, "lost");
  EXPECT_DOUBLE_EQ(outcomes.during.at, 21.5);
  EXPECT_DOUBLE_EQ(outcomes.to_it.at, 1.75);
}

Task<> lose_rank_1(World& world, SimCluster& cluster, Outcome& outcome) {
  if (world.rank() == 1) co_await world.sleep(100);
  co_await world.sleep(2);
  cluster.lose(1);
  EXPECT_FALSE(world.is_lost(1));  // the news is on its way
  co_await note_outcome(world, recv_size(world, 1, tag_of(0), 10), outcome);
}

TEST(SimFaults, ARankCanBeLostByHand) {
  SimCluster cluster(slow_cluster(2));
  Outcome outcome;
  const auto errors =
      cluster.run([&](World& world) { return lose_rank_1(world, cluster, outcome); });
  EXPECT_EQ(errors[0], nullptr);
  EXPECT_THROW(std::rethrow_exception(errors[1]), PeerLost);
  EXPECT_EQ(outcome.error, "lost");
  EXPECT_DOUBLE_EQ(outcome.at, 2.5);
}

SimOptions partitioned(double from, double until) {
  SimOptions options = slow_cluster(4);
  options.faults.partitions = {{.hosts = {0, 2}, .from = from, .until = until}};
  return options;
}

TEST(SimFaults, AShortPartitionOnlyDelays) {
  const auto done = simulated(partitioned(1, 4), {{.from = 0, .to = 1, .bytes = 200},
                                                  {.from = 1, .to = 0, .bytes = 200, .start = 2},
                                                  {.from = 0, .to = 2, .bytes = 200, .start = 2},
                                                  {.from = 3, .to = 2, .bytes = 90}});
  EXPECT_DOUBLE_EQ(done[0].arrived, 5.5);  // half of it before, half after
  EXPECT_DOUBLE_EQ(done[1].arrived, 6.5);
  EXPECT_DOUBLE_EQ(done[2].arrived, 4.5);  // on the same side
  EXPECT_DOUBLE_EQ(done[3].arrived, 1.4);  // it had left
}

Task<> exchange_across(World& world, std::vector<Outcome>& outcomes) {
  const Rank other = world.rank() ^ 1;
  std::vector<Started> tasks;
  Outcome sending;
  tasks.emplace_back(world, note_outcome(world, send_size(world, other, tag_of(0), 1000), sending));
  tasks.emplace_back(world, note_outcome(world, recv_size(world, other, tag_of(0), 1000),
                                         outcomes[static_cast<size_t>(world.rank())]));
  co_await join_all(world, tasks);
  EXPECT_TRUE(world.is_lost(other));
  EXPECT_FALSE(world.is_lost(world.rank() ^ 2));
  // It stays so when the network is whole again; those of one side have each other.
  co_await world.sleep(20);
  co_await note_outcome(world, send_size(world, other, tag_of(1), 10), sending);
  EXPECT_EQ(sending.error, "lost");
  Started greeting(world, send_size(world, world.rank() ^ 2, tag_of(2), 10));
  co_await recv_size(world, world.rank() ^ 2, tag_of(2), 10);
  co_await greeting.join();
}

TEST(SimFaults, ALongPartitionLosesBothSidesToEachOther) {
  SimCluster cluster(partitioned(1, 8));
  std::vector<Outcome> outcomes(4);
  run_all(cluster, [&](World& world) { return exchange_across(world, outcomes); });
  for (const Outcome& outcome : outcomes) {
    EXPECT_EQ(outcome.error, "lost");
    EXPECT_DOUBLE_EQ(outcome.at, 5);
  }
}

Task<> wait_for_rank_1(World& world, Outcome& outcome) {
  if (world.rank() == 0) {
    co_await note_outcome(world, recv_size(world, 1, tag_of(0), 10), outcome);
  } else if (world.rank() == 1) {
    co_await world.sleep(100);
  }
}

TEST(SimFaults, ACrashBehindAPartitionIsSeenWhenTheNetworkIsWhole) {
  SimOptions options = partitioned(1, 4);
  options.faults.crashes = {{.rank = 1, .at = 2}};
  SimCluster cluster(options);
  Outcome outcome;
  cluster.run([&](World& world) { return wait_for_rank_1(world, outcome); });
  EXPECT_EQ(outcome.error, "lost");
  EXPECT_DOUBLE_EQ(outcome.at, 4.5);
}

TEST(SimFaults, LossesDelayTheShareOfMessagesThatTheyMust) {
  SimOptions options = uniform_cluster(2, 1e9, 0);
  options.faults.loss = 0.1;
  options.faults.retransmit_after = 100;
  std::vector<Transfer> transfers(2000, Transfer{.bytes = 2 * 1460});
  int late = 0;
  for (const Transfer& transfer : simulated(options, transfers)) late += transfer.arrived > 50;
  EXPECT_NEAR(late / 2000.0, 1 - 0.9 * 0.9, 0.04);
}

TEST(SimFaults, DelaysAreWithinTheirBounds) {
  SimOptions options = slow_cluster(2);
  options.faults.message_delay_max = 3;
  double least = 1e9;
  double most = 0;
  for (const Transfer& transfer : simulated(options, std::vector<Transfer>(500))) {
    least = std::min(least, transfer.arrived);
    most = std::max(most, transfer.arrived);
  }
  EXPECT_GE(least, 0.5);
  EXPECT_LT(least, 0.6);
  EXPECT_LE(most, 3.5);
  EXPECT_GT(most, 3.4);
}

SimStatistics troubled_ring(uint64_t seed) {
  SimOptions options = uniform_cluster(8, 1e6, 1e-3);
  options.carry_data = false;
  options.seed = seed;
  options.faults.message_delay_max = 0.01;
  options.faults.crashes = {{.rank = 3, .at = 0.5}};
  SimCluster cluster(options);
  cluster.run([](World& world) { return ring_steps(world, 100, 10'000); });
  return cluster.statistics();
}

TEST(SimFaults, TheSameSeedGivesTheSameEventsAndAnotherSeedOthers) {
  const SimStatistics first = troubled_ring(1);
  const SimStatistics again = troubled_ring(1);
  EXPECT_EQ(first.trace, again.trace);
  EXPECT_EQ(first.events, again.events);
  EXPECT_EQ(first.hosts[5].bytes_out, again.hosts[5].bytes_out);
  EXPECT_NE(first.trace, troubled_ring(2).trace);
}

Task<> wait_for_each_other(World& world) {
  co_await recv_size(world, 1 - world.rank(), tag_of(0), 10);
}

TEST(SimFaults, ADeadlockEndsAtTheDeadlineOfVirtualTime) {
  SimCluster cluster(slow_cluster(2));
  const auto errors = cluster.run(wait_for_each_other);
  for (const auto& error : errors) {
    EXPECT_THROW(std::rethrow_exception(error), DeadlinePassed);
  }
  EXPECT_DOUBLE_EQ(cluster.now(), cluster.world(0).deadline());
}

Task<> send_too_much(World& world) {
  if (world.rank() == 0) {
    world.set_deadline(3);
    co_await send_size(world, 1, tag_of(0), 1000);
  } else {
    co_await recv_size(world, 0, tag_of(0), 1000);
  }
}

TEST(SimFaults, ADeadlineSaysHowMuchCrossed) {
  SimCluster cluster(slow_cluster(2));
  const auto errors = cluster.run(send_too_much);
  ASSERT_NE(errors[0], nullptr);
  try {
    std::rethrow_exception(errors[0]);
  } catch (const DeadlinePassed& error) {
    EXPECT_NE(std::string(error.what()).find("300 B of it crossed"), std::string::npos)
        << error.what();
  }
  EXPECT_THROW(std::rethrow_exception(errors[1]), PeerLost);
}

Task<> wait_for_nothing(World& world) {
  Event never(world);
  co_await never.wait();
}

Task<> sleep_for_ever(World& world) {
  while (true) co_await world.sleep(1e6);
}

Task<> sleep_for_no_time(World& world) {
  while (true) co_await world.sleep(0);
}

Task<> talk_to_itself(World& world) {
  while (true) {
    co_await send_size(world, world.rank(), tag_of(0), 1);
    co_await recv_size(world, world.rank(), tag_of(0), 1);
  }
}

Task<> take_no_error(World& world) {
  while (true) {
    try {
      co_await recv_size(world, 1, tag_of(0), 1);
    } catch (const RunError&) {
    }
  }
}

Task<> never_give_up(World& world) {
  if (world.rank() == 0) co_await take_no_error(world);
}

TEST(SimFaults, NoProgramHangs) {
  SimOptions options = slow_cluster(2);
  options.events_at_once_max = 10'000;
  for (const auto program :
       {wait_for_nothing, sleep_for_ever, sleep_for_no_time, talk_to_itself, never_give_up}) {
    SimCluster cluster(options);
    const auto errors = cluster.run(program);
    ASSERT_NE(errors[0], nullptr);
    EXPECT_THROW(std::rethrow_exception(errors[0]), RunError);
  }
}

TEST(SimFaults, ARunHasALimitOfEvents) {
  SimOptions options = slow_cluster(2);
  options.events_max = 1000;
  SimCluster cluster(options);
  const auto errors = cluster.run([](World& world) { return ring_steps(world, 1000, 10); });
  EXPECT_THROW(std::rethrow_exception(errors[0]), RunError);
  EXPECT_LE(cluster.statistics().events, 1010U);
}

}  // namespace
}  // namespace syrtos::world
