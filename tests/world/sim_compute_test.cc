#include <gtest/gtest.h>

#include <cmath>

#include "tests/world/sim_programs.h"

namespace syrtos::world {
namespace {

Task<> compute_for(World& world, double seconds, Where where, double& end) {
  co_await world.compute(seconds, {}, where);
  end = world.now();
}

Task<> compute_and_note(World& world, double seconds, std::vector<double>& ends) {
  co_await compute_for(world, seconds, Where::pool, ends[static_cast<size_t>(world.rank())]);
}

/// When each rank has computed for a second.
std::vector<double> ends_of_a_second(SimOptions options) {
  SimCluster cluster(std::move(options));
  std::vector<double> ends(static_cast<size_t>(cluster.size()));
  run_all(cluster, [&](World& world) { return compute_and_note(world, 1, ends); });
  return ends;
}

TEST(SimCompute, ASlowHostTakesLonger) {
  SimOptions options = uniform_cluster(3, 1e9, 0);
  options.hosts[1].speed = 0.5;
  options.hosts[2].speed = 4;
  EXPECT_EQ(ends_of_a_second(options), (std::vector<double>{1, 2, 0.25}));
}

TEST(SimCompute, RanksOfOneHostShareItsCores) {
  SimOptions options = uniform_cluster(1, 1e9, 0);
  options.host_of_rank = {0, 0, 0};
  EXPECT_EQ(ends_of_a_second(options), (std::vector<double>{1, 1, 1}));
  options.hosts[0].cores = 2;
  options.hosts[0].compute_cores = 1;  // 3 threads on 2 cores
  EXPECT_EQ(ends_of_a_second(options), (std::vector<double>{1.5, 1.5, 1.5}));
  options.hosts[0].compute_cores = 0;  // 2/3 of a core each: measured like that
  EXPECT_EQ(ends_of_a_second(options), (std::vector<double>{1, 1, 1}));
}

Task<> pool_in_order(World& world, std::vector<double>& ends) {
  std::vector<Started> tasks;
  for (size_t i = 0; i < ends.size(); ++i) {
    tasks.emplace_back(world, compute_for(world, static_cast<double>(i + 1), Where::pool, ends[i]));
  }
  co_await join_all(world, tasks);
}

TEST(SimCompute, PoolWorkOfARankIsDoneOneAfterTheOther) {
  SimCluster cluster(uniform_cluster(1, 1e9, 0));
  std::vector<double> ends(3);
  run_all(cluster, [&](World& world) { return pool_in_order(world, ends); });
  EXPECT_EQ(ends, (std::vector<double>{1, 3, 6}));
  EXPECT_DOUBLE_EQ(cluster.statistics().hosts[0].computing_seconds, 6);
}

Task<> cancel_work(World& world, std::vector<double>& ends) {
  double never = -1;
  {
    Started first(world, compute_for(world, 2, Where::pool, never));
    Started second(world, compute_for(world, 100, Where::pool, never));
    co_await world.sleep(1);
  }
  EXPECT_EQ(never, -1);
  co_await compute_for(world, 1, Where::pool, ends[0]);
}

TEST(SimCompute, CancelledWorkTakesItsTimeOnlyIfItHasBegun) {
  SimCluster cluster(uniform_cluster(1, 1e9, 0));
  std::vector<double> ends(1);
  run_all(cluster, [&](World& world) { return cancel_work(world, ends); });
  EXPECT_DOUBLE_EQ(ends[0], 3);
}

struct HereTimes {
  Transfer outgoing{.from = 0, .to = 1, .bytes = 200};
  Transfer incoming{.from = 1, .to = 0, .bytes = 100};
  Transfer later{.from = 0, .to = 1, .bytes = 100};
  double here = 0;
  double again = 0;
};

Task<> work_here(World& world, HereTimes& times) {
  const auto tag = [](uint16_t item) { return Tag{Purpose::control, item, 0}; };
  std::vector<Started> tasks;
  if (world.rank() == 0) {
    tasks.emplace_back(world, send_transfer(world, times.outgoing, tag(0)));
    tasks.emplace_back(world, recv_transfer(world, times.incoming, tag(1)));
    co_await world.sleep(0.5);
    tasks.emplace_back(world, compute_for(world, 4, Where::here, times.here));
    tasks.emplace_back(world, compute_for(world, 2, Where::here, times.again));
    tasks.emplace_back(world, send_transfer(world, times.later, tag(2)));
  } else {
    tasks.emplace_back(world, recv_transfer(world, times.outgoing, tag(0)));
    tasks.emplace_back(world, send_transfer(world, times.incoming, tag(1)));
    tasks.emplace_back(world, recv_transfer(world, times.later, tag(2)));
  }
  co_await join_all(world, tasks);
}

TEST(SimCompute, WorkHereLetsNothingStartOrBeNoticed) {
  SimOptions options = uniform_cluster(2, 100, 0);
  SimCluster cluster(options);
  HereTimes times;
  run_all(cluster, [&](World& world) { return work_here(world, times); });
  EXPECT_DOUBLE_EQ(times.outgoing.arrived, 2);    // it was flowing and goes on
  EXPECT_DOUBLE_EQ(times.outgoing.sent, 4.5);     // noticed afterwards
  EXPECT_DOUBLE_EQ(times.incoming.sent, 1);       // the other side is free
  EXPECT_DOUBLE_EQ(times.incoming.arrived, 4.5);  // noticed afterwards
  EXPECT_DOUBLE_EQ(times.here, 4.5);
  EXPECT_DOUBLE_EQ(times.again, 6.5);
  EXPECT_DOUBLE_EQ(times.later.arrived, 7.5);  // started after all work here
}

Task<> move_and_compute(World& world, std::vector<Transfer>& transfers, double& end) {
  std::vector<Started> tasks;
  if (world.rank() == 0) tasks.emplace_back(world, compute_for(world, 1, Where::pool, end));
  tasks.emplace_back(world, do_transfers(world, transfers));
  co_await join_all(world, tasks);
}

/// A host of one core computes for a second and sends 50 MB meanwhile, which costs half a second.
std::pair<Transfer, double> shared_core(double bandwidth) {
  SimOptions options = uniform_cluster(2, bandwidth, 0);
  options.carry_data = false;
  options.hosts[0].cores = 1;
  options.hosts[0].core_seconds_per_byte = 1e-8;
  SimCluster cluster(options);
  std::vector<Transfer> transfers = {{.from = 0, .to = 1, .bytes = 50'000'000}};
  double end = 0;
  run_all(cluster, [&](World& world) { return move_and_compute(world, transfers, end); });
  EXPECT_NEAR(cluster.statistics().hosts[0].moving_core_seconds, 0.5, 1e-12);
  return {transfers[0], end};
}

TEST(SimCompute, MovingBytesAndComputingShareACoreEqually) {
  const auto [transfer, end] = shared_core(1e9);  // the link could carry more than the core can
  EXPECT_DOUBLE_EQ(transfer.arrived, 1);          // half a core: 50 MB/s
  EXPECT_DOUBLE_EQ(end, 1.5);                     // a half, then alone
}

TEST(SimCompute, ComputingGetsWhatASlowLinkLeaves) {
  const auto [transfer, end] = shared_core(25e6);  // a quarter of the core
  EXPECT_DOUBLE_EQ(transfer.arrived, 2);
  EXPECT_NEAR(end, 4.0 / 3, 1e-12);
}

TEST(SimCompute, MovingBytesTakesIdleCores) {
  SimOptions options = uniform_cluster(2, 1e9, 0);
  options.carry_data = false;
  options.hosts[0].cores = 4;
  options.hosts[0].compute_cores = 1;
  options.hosts[0].core_seconds_per_byte = 1e-8;
  SimCluster cluster(options);
  std::vector<Transfer> transfers = {{.from = 0, .to = 1, .bytes = 300'000'000}};
  double end = 0;
  run_all(cluster, [&](World& world) { return move_and_compute(world, transfers, end); });
  EXPECT_DOUBLE_EQ(end, 1);
  EXPECT_DOUBLE_EQ(transfers[0].arrived, 1);  // three cores
}

Task<> compute_often(World& world, int times, std::vector<double>& durations) {
  for (int i = 0; i < times; ++i) {
    const double start = world.now();
    co_await world.compute(1, {});
    durations.push_back(world.now() - start);
  }
}

struct Moments {
  double mean = 0;
  double deviation = 0;
};

Moments moments_of_computing(const SimOptions& options, int times) {
  SimCluster cluster(options);
  std::vector<double> durations;
  run_all(cluster, [&](World& world) { return compute_often(world, times, durations); });
  Moments result;
  for (const double duration : durations) result.mean += duration / times;
  for (const double duration : durations) {
    result.deviation += (duration - result.mean) * (duration - result.mean) / times;
  }
  result.deviation = std::sqrt(result.deviation);
  return result;
}

TEST(SimCompute, JitterKeepsTheMeanAndHasTheDeviationAskedFor) {
  SimOptions options = uniform_cluster(1, 1e9, 0);
  options.hosts[0].jitter = 0.3;
  constexpr int kTimes = 40'000;
  const Moments moments = moments_of_computing(options, kTimes);
  EXPECT_NEAR(moments.mean, 1, 5 * 0.3 / std::sqrt(kTimes));
  EXPECT_NEAR(moments.deviation, 0.3, 0.02);
}

TEST(SimCompute, SomeComputingIsSlow) {
  SimOptions options = uniform_cluster(1, 1e9, 0);
  options.faults.slow_probability = 0.25;
  options.faults.slow_factor = 5;
  EXPECT_NEAR(moments_of_computing(options, 20'000).mean, 0.75 + 0.25 * 5, 0.07);
}

}  // namespace
}  // namespace syrtos::world
