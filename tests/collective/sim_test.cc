// In a simulated cluster an all-reduce takes as long as its formula says.

#include <gtest/gtest.h>

#include "syrtos/collective/bytes.h"
#include "syrtos/collective/collective.h"
#include "syrtos/collective/measure.h"
#include "syrtos/world/sim/sim.h"

namespace syrtos::collective {
namespace {

using world::SimCluster;
using world::Task;
using world::World;

constexpr LinkSpeed kLink{50e-6, 125e6};

Task<> reduce_sizes(World& world, const Group& group, size_t elements, ReduceOptions options) {
  const Floats sizes{nullptr, elements};
  co_await all_reduce(world, group, sizes, options);
}

double simulated_seconds(world::SimOptions hosts, size_t elements, const ReduceOptions& options) {
  hosts.carry_data = false;
  SimCluster cluster(std::move(hosts));
  const Group group = Group::all(cluster.world(0));
  run_all(cluster, [&](World& world) { return reduce_sizes(world, group, elements, options); });
  return cluster.now();
}

TEST(SimulatedAllReduce, TakesThePredictedTimeWithOneRankPerHost) {
  for (const int n : {2, 3, 4, 5, 8, 12, 16}) {
    for (const size_t bytes : {size_t{960}, size_t{960'000}, size_t{96'000'000}}) {
      for (const Algorithm algorithm :
           {Algorithm::ring, Algorithm::halving_doubling, Algorithm::doubling, Algorithm::tree}) {
        const double seconds =
            simulated_seconds(world::uniform_cluster(n, kLink.bytes_per_s, kLink.latency_s),
                              bytes / 4, {.algorithm = algorithm, .slices = 1});
        const double predicted = predicted_seconds(algorithm, n, n, bytes, kLink);
        // Where n is no power of two some wait for nobody: a tree can be faster, and with doubling
        // their first messages arrive beside those of the others.
        const bool uneven = (n & (n - 1)) != 0;
        const double least = uneven && algorithm == Algorithm::tree       ? 0.5
                             : uneven && algorithm == Algorithm::doubling ? 0.7
                                                                          : 0.999;
        const double most = uneven && algorithm == Algorithm::doubling ? 1.4 : 1.001;
        EXPECT_LE(seconds, most * predicted) << to_string(algorithm) << " " << n << " " << bytes;
        EXPECT_GE(seconds, least * predicted) << to_string(algorithm) << " " << n << " " << bytes;
      }
    }
  }
}

TEST(SimulatedAllReduce, SlicesHideTheLatencyOfRounds) {
  constexpr int kRanks = 8;
  constexpr size_t kBytes = 4'000'000;
  const auto cluster = world::uniform_cluster(kRanks, kLink.bytes_per_s, 1e-3);
  const ReduceOptions whole{.algorithm = Algorithm::ring, .slices = 1};
  const ReduceOptions sliced{.algorithm = Algorithm::ring, .slices = 2};
  const double bytes_only = 2.0 * (kRanks - 1) / kRanks * kBytes / kLink.bytes_per_s;
  const double one = simulated_seconds(cluster, kBytes / 4, whole);
  const double two = simulated_seconds(cluster, kBytes / 4, sliced);
  EXPECT_NEAR(one, bytes_only + 14e-3, 1e-5);
  EXPECT_LT(two, bytes_only + 4e-3);
  EXPECT_GE(two, bytes_only);
}

TEST(SimulatedAllReduce, HierarchicalIsFasterThanFlatOnesWhereRanksShareALink) {
  world::SimOptions options = world::uniform_cluster(4, kLink.bytes_per_s, kLink.latency_s);
  options.host_of_rank = {0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3};
  for (auto& host : options.hosts) host.memory_bandwidth = 1e12;
  const LinkSpeed memory{0, 1e12};
  constexpr size_t kBytes = 16'000'000;
  const double hierarchical =
      simulated_seconds(options, kBytes / 4, {.algorithm = Algorithm::hierarchical, .slices = 1});
  const double predicted = predicted_seconds(Algorithm::hierarchical, 16, 4, kBytes, kLink, memory);
  EXPECT_NEAR(hierarchical, predicted, 0.01 * predicted);
  for (const Algorithm flat : {Algorithm::halving_doubling, Algorithm::tree, Algorithm::ring}) {
    const double seconds = simulated_seconds(options, kBytes / 4, {.algorithm = flat, .slices = 1});
    EXPECT_LT(hierarchical, seconds) << to_string(flat);
    const double formula = predicted_seconds(flat, 16, 4, kBytes, kLink, memory);
    EXPECT_NEAR(seconds, formula, 0.01 * formula) << to_string(flat);
  }
}

Task<> measure(World& world, LinkSpeed& found) {
  const Group group = Group::all(world);
  const LinkSpeed speed = co_await measure_link(world, group);
  if (world.rank() == 0) found = speed;
}

TEST(MeasureLink, FindsTheSpeedOfASimulatedLinkInTime) {
  LinkSpeed found;
  SimCluster cluster(world::uniform_cluster(5, kLink.bytes_per_s, kLink.latency_s));
  run_all(cluster, [&](World& world) { return measure(world, found); });
  EXPECT_NEAR(found.latency_s, kLink.latency_s, 1e-6);
  EXPECT_NEAR(found.bytes_per_s, kLink.bytes_per_s, 0.01 * kLink.bytes_per_s);
  EXPECT_LT(cluster.now(), 0.3);
}

Task<> gather_sizes(World& world, size_t bytes) {
  const Group group = Group::all(world);
  const std::vector<Bytes> parts =
      co_await all_gather_bytes(world, group, Bytes(bytes), world::Tag{});
  EXPECT_EQ(parts.size(), 4U);
  for (const Bytes& part : parts) EXPECT_EQ(part.size(), bytes);
}

TEST(AllGatherBytes, TakesTimeWhereOnlySizesTravel) {
  world::SimOptions options = world::uniform_cluster(4, kLink.bytes_per_s, kLink.latency_s);
  options.carry_data = false;
  SimCluster cluster(options);
  run_all(cluster, [&](World& world) { return gather_sizes(world, 1'000'000); });
  EXPECT_GT(cluster.now(), 3e6 / kLink.bytes_per_s);
  EXPECT_LT(cluster.now(), 3e6 / kLink.bytes_per_s + 1e-3);
}

Task<> broadcast_sizes(World& world, size_t bytes) {
  const Group group = Group::all(world);
  co_await broadcast(world, group, nullptr, bytes, 0, world::Tag{});
}

TEST(Broadcast, OfALargeBufferTakesLittleLongerThanOneCopy) {
  world::SimOptions options = world::uniform_cluster(8, kLink.bytes_per_s, kLink.latency_s);
  options.carry_data = false;
  SimCluster cluster(options);
  run_all(cluster, [&](World& world) { return broadcast_sizes(world, 100'000'000); });
  EXPECT_LT(cluster.now(), 1.1 * 1e8 / kLink.bytes_per_s);
}

}  // namespace
}  // namespace syrtos::collective
