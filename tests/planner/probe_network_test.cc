#include "syrtos/planner/probe_network.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "syrtos/base/parallel.h"
#include "syrtos/planner/probe_schedule.h"
#include "syrtos/world/sim/sim.h"

// In a simulated cluster the truth is known: measuring must give it back.

namespace syrtos::planner {
namespace {

using world::SimCluster;
using world::SimOptions;

world::Task<> probe(world::World& world, NetworkProbeOptions options, NetworkProbe& result) {
  result = co_await probe_network(world, std::move(options));
}

/// What every rank found: they must agree.
NetworkProbe measured(const SimOptions& options, double seconds = 4) {
  const ThreadScope one(1);  // nothing is computed here but virtual time
  SimCluster cluster(options);
  std::vector<NetworkProbe> results(static_cast<size_t>(cluster.size()));
  world::run_all(cluster, [&](world::World& world) {
    NetworkProbeOptions probing;
    probing.seconds = seconds;
    probing.cores = 4 + world.rank();
    probing.memory = 1e9 * (1 + world.rank());
    const auto rank = static_cast<size_t>(world.rank());
    probing.core_seconds = [&cluster, rank] {
      const auto hosts = cluster.statistics().hosts;
      return hosts[std::min(rank, hosts.size() - 1)].moving_core_seconds;
    };
    return probe(world, probing, results[rank]);
  });
  for (const NetworkProbe& result : results) {
    EXPECT_EQ(result.cluster.all_at_once, results[0].cluster.all_at_once);
    EXPECT_EQ(result.cluster.hosts.size(), results[0].cluster.hosts.size());
    EXPECT_EQ(result.cluster.hosts.back().bandwidth, results[0].cluster.hosts.back().bandwidth);
  }
  return results[0];
}

void expect_near_part(double found, double truth, double part, const std::string& what) {
  EXPECT_NEAR(found, truth, part * truth) << what;
}

void expect_bandwidths(const NetworkProbe& result, const std::vector<double>& truth) {
  ASSERT_EQ(result.cluster.hosts.size(), truth.size());
  for (size_t i = 0; i < truth.size(); ++i) {
    expect_near_part(result.cluster.hosts[i].bandwidth, truth[i], 0.02,
                     result.cluster.hosts[i].name);
  }
}

SimOptions with_bandwidths(const std::vector<double>& bandwidths, double latency = 60e-6) {
  SimOptions options = world::uniform_cluster(static_cast<int>(bandwidths.size()), 125e6, latency);
  for (size_t i = 0; i < bandwidths.size(); ++i) options.hosts[i].bandwidth = bandwidths[i];
  return options;
}

TEST(ProbeNetwork, EqualHostsGiveBackBandwidthAndLatency) {
  for (const int hosts : {2, 3, 5, 8}) {
    const NetworkProbe result = measured(world::uniform_cluster(hosts, 117e6, 60e-6));
    expect_bandwidths(result, std::vector<double>(static_cast<size_t>(hosts), 117e6));
    for (const HostProfile& host : result.cluster.hosts) {
      expect_near_part(host.latency, 60e-6, 0.02, host.name);
    }
    EXPECT_EQ(result.cluster.all_at_once, 0) << hosts << " hosts do not disturb each other";
    EXPECT_EQ(result.cluster.spread, 0.02);
    check(result.cluster, "the profile");
  }
}

TEST(ProbeNetwork, ASlowHostDoesNotMakeItsPartnersSlow) {
  const std::vector<double> truth = {117e6, 117e6, 11.7e6, 117e6};
  const NetworkProbe result = measured(with_bandwidths(truth));
  expect_bandwidths(result, truth);
  EXPECT_EQ(result.cluster.all_at_once, 0) << "slow links are no common limit";
}

TEST(ProbeNetwork, FastHostsBetweenSlowOnesAreFound) {
  const std::vector<double> truth = {100e6, 20e6, 100e6, 20e6, 100e6, 20e6};
  expect_bandwidths(measured(with_bandwidths(truth)), truth);
}

TEST(ProbeNetwork, AFastHostIsMeasuredWithSeveralSlowOnes) {
  const std::vector<double> truth = {20e6, 55e6, 20e6, 20e6};
  expect_bandwidths(measured(with_bandwidths(truth)), truth);
}

TEST(ProbeNetwork, VerySlowAndVeryFastLinksComeOutRight) {
  for (const double bandwidth : {1.2e6, 12e6, 3e9}) {
    const std::vector<double> truth(3, bandwidth);
    expect_bandwidths(measured(with_bandwidths(truth, 20e-6), 2), truth);
  }
}

TEST(ProbeNetwork, LatencyIsThatOfMostPartners) {
  SimOptions options = world::uniform_cluster(8, 125e6, 50e-6);
  options.hosts[3].latency = 450e-6;  // with a partner: the mean of both
  const NetworkProbe result = measured(options);
  for (size_t i = 0; i < 8; ++i) {
    expect_near_part(result.cluster.hosts[i].latency, i == 3 ? 250e-6 : 50e-6, 0.02,
                     std::to_string(i));
  }
}

TEST(ProbeNetwork, ASwitchThatAllShareLimitsThemAllAtOnce) {
  // Every message of the ring crosses it: two upwards and two downwards.
  SimOptions options = world::uniform_cluster(4, 100e6, 50e-6);
  options.switches = {{.hosts = {0, 2}, .bandwidth = 150e6}};
  const NetworkProbe result = measured(options);
  expect_bandwidths(result, std::vector<double>(4, 100e6));
  expect_near_part(result.cluster.all_at_once, 300e6, 0.03, "all at once");
}

TEST(ProbeNetwork, TheCoresThatMovingBytesCostAreFound) {
  SimOptions options = world::uniform_cluster(4, 100e6, 50e-6);
  for (world::SimHost& host : options.hosts) {
    host.cores = 4;
    host.core_seconds_per_byte = 0.7e-9;
  }
  for (const HostProfile& host : measured(options).cluster.hosts) {
    expect_near_part(host.core_s_per_gb, 0.7, 0.03, host.name);
  }
}

TEST(ProbeNetwork, ComputingThatSlowsDownWhileBytesMoveIsSeen) {
  SimOptions options = world::uniform_cluster(3, 100e6, 50e-6);
  for (world::SimHost& host : options.hosts) {
    host.cores = 1;
    host.core_seconds_per_byte = 1e-9;  // a fifth of the core: 100 MB/s in each direction
  }
  for (const HostFindings& host : measured(options).findings) {
    EXPECT_NEAR(host.slowdown, 1 / 0.8, 0.03);
    EXPECT_NEAR(host.together, 1, 0.01);
  }
  for (const HostFindings& host : measured(world::uniform_cluster(3, 1e8, 5e-5)).findings) {
    EXPECT_NEAR(host.slowdown, 1, 0.01) << "with cores enough";
  }
}

TEST(ProbeNetwork, SpeedAndJitterOfComputingAreFound) {
  SimOptions options = world::uniform_cluster(3, 100e6, 50e-6);
  options.hosts[1].speed = 0.5;
  options.hosts[2].jitter = 0.1;
  const ClusterProfile cluster = measured(options, 20).cluster;
  EXPECT_NEAR(cluster.hosts[0].speed, 1, 0.01);
  EXPECT_NEAR(cluster.hosts[1].speed, 0.5, 0.01);
  EXPECT_NEAR(cluster.hosts[0].jitter, 0, 0.001);
  EXPECT_NEAR(cluster.hosts[2].jitter, 0.1, 0.04);
}

TEST(ProbeNetwork, CoresAndMemoryOfEachHostAreInTheProfile) {
  const ClusterProfile cluster = measured(world::uniform_cluster(3, 100e6, 50e-6)).cluster;
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(cluster.hosts[i].cores, 4 + static_cast<double>(i));
    EXPECT_EQ(cluster.hosts[i].memory, 1e9 * static_cast<double>(i + 1));
  }
}

TEST(ProbeNetwork, RanksOfOneHostMeasureItsMemory) {
  SimOptions options = world::uniform_cluster(1, 100e6, 50e-6);
  options.host_of_rank = {0, 0, 0};
  options.hosts[0].memory_bandwidth = 4e9;
  options.hosts[0].memory_latency = 3e-6;
  const ClusterProfile cluster = measured(options).cluster;
  ASSERT_EQ(cluster.hosts.size(), 1U);
  EXPECT_EQ(cluster.hosts[0].slots, 3);
  expect_near_part(cluster.hosts[0].memory_bandwidth, 4e9, 0.02, "bandwidth");
  expect_near_part(cluster.hosts[0].memory_latency, 3e-6, 0.02, "latency");
  check(cluster, "the profile");
}

TEST(ProbeNetwork, TheProfileIsReadAgainAsItWasWritten) {
  const ClusterProfile cluster = measured(with_bandwidths({117e6, 11.7e6, 117e6})).cluster;
  const auto file = std::filesystem::path(testing::TempDir()) / "syrtos-probe-network.toml";
  write_cluster(file, cluster);
  const ClusterProfile again = read_cluster(file);
  std::filesystem::remove(file);
  ASSERT_EQ(again.hosts.size(), 3U);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(again.hosts[i].name, cluster.hosts[i].name);
    expect_near_part(again.hosts[i].bandwidth, cluster.hosts[i].bandwidth, 0.01, "bandwidth");
    expect_near_part(again.hosts[i].latency, cluster.hosts[i].latency, 0.01, "latency");
    EXPECT_EQ(again.hosts[i].cores, cluster.hosts[i].cores);
  }
}

TEST(ProbeNetwork, TakesNotMuchLongerThanItIsTold) {
  for (const int hosts : {2, 8, 16}) {
    const NetworkProbe result = measured(world::uniform_cluster(hosts, 117e6, 60e-6), 8);
    EXPECT_LT(result.seconds, hosts > 8 ? 15 : 10) << hosts << " hosts";
  }
}

TEST(ProbeNetwork, AHostThatIsLostEndsItEverywhere) {
  SimOptions options = world::uniform_cluster(4, 117e6, 60e-6);
  options.faults.crashes = {{.rank = 2, .at = 1}};
  SimCluster cluster(options);
  std::vector<NetworkProbe> results(4);
  const auto errors = cluster.run([&](world::World& world) {
    return probe(world, {}, results[static_cast<size_t>(world.rank())]);
  });
  for (const std::exception_ptr& error : errors) EXPECT_TRUE(error);
  EXPECT_LT(cluster.now(), 3);
}

TEST(ProbeNetwork, StopsInTheMiddleOfALongTurn) {
  SimCluster cluster(world::uniform_cluster(3, 117e6, 60e-6));
  std::vector<NetworkProbe> results(3);
  const auto errors = cluster.run([&](world::World& world) {
    NetworkProbeOptions options;
    options.seconds = 300;
    options.should_stop = [&world] { return world.now() > 1; };
    return probe(world, options, results[static_cast<size_t>(world.rank())]);
  });
  for (const std::exception_ptr& error : errors) EXPECT_TRUE(error);
  EXPECT_LT(cluster.now(), 1.3);
}

TEST(ProbeSchedule, EveryPairMeetsOnceAndNobodyIsInTwoPlaces) {
  for (int ranks = 2; ranks <= 70; ++ranks) {
    const std::vector<Meeting> pairs = pairs_in_ring(ranks, 3);
    std::vector<std::pair<Rank, Rank>> seen;
    for (const Meeting& pair : pairs) {
      ASSERT_EQ(pair.partners.size(), 1U);
      ASSERT_NE(pair.centre, pair.partners[0]);
      seen.emplace_back(std::minmax(pair.centre, pair.partners[0]));
    }
    std::ranges::sort(seen);
    EXPECT_EQ(std::ranges::adjacent_find(seen), seen.end()) << ranks << " ranks";
    size_t met = 0;
    for (const Turn& turn : turns_of(pairs, 32)) {
      std::vector<int> times(static_cast<size_t>(ranks), 0);
      for (const Meeting& meeting : turn) {
        ++met;
        for (Rank rank = 0; rank < ranks; ++rank) {
          times[static_cast<size_t>(rank)] += meeting.has(rank) ? 1 : 0;
        }
      }
      EXPECT_LE(*std::ranges::max_element(times), 1);
    }
    EXPECT_EQ(met, pairs.size());
  }
}

TEST(ProbeSchedule, ThereAreNotManyMoreTurnsThanAllowed) {
  for (const int ranks : {16, 33, 64, 200, 1000}) {
    EXPECT_LE(turns_of(pairs_in_ring(ranks, 1), 32).size(), 40U) << ranks << " ranks";
    EXPECT_LE(turns_of(everybody_alone(ranks), 32).size(), 32U) << ranks << " ranks";
  }
}

}  // namespace
}  // namespace syrtos::planner
