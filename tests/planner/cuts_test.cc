// Where plans cut networks: against every cut that there is, and in large.

#include "syrtos/planner/cuts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>
#include <numeric>
#include <random>

#include "syrtos/base/error.h"
#include "syrtos/planner/part_candidates.h"
#include "syrtos/planner/plan.h"
#include "tests/planner/towers.h"

namespace syrtos::planner {
namespace {

using strategy::Split;

Candidate in_parts(int parts, int64_t micro_batches, int replicas = 1) {
  Candidate candidate;
  candidate.workers = parts * replicas;
  candidate.options.sync = strategy::parse_sync("split");
  candidate.options.split = Split::layers(parts);
  candidate.micro_batches = micro_batches;
  return candidate;
}

/// The shortest step of all cuts into so many parts.
double best_of_all(const Workload& workload, const ClusterProfile& cluster, Candidate way) {
  const auto units = workload.network->units().size();
  const auto parts = static_cast<size_t>(way.options.split.parts);
  double best = 1e9;
  std::vector<size_t> begins(parts - 1);
  std::iota(begins.begin(), begins.end(), 1);
  while (true) {
    const bool possible = std::all_of(begins.begin(), begins.end(), [&](size_t unit) {
      return workload.network->units()[unit].can_begin;
    });
    if (possible) {
      way.options.split = workload.network->split_at(begins, way.options.split.parts);
      if (fits_in_memory(workload, cluster, way)) {
        best = std::min(best, simulate(workload, cluster, way).seconds);
      }
    }
    size_t last = begins.size();
    while (last > 0 && begins[last - 1] == units - (begins.size() - last) - 1) --last;
    if (last == 0) return best;
    ++begins[last - 1];
    for (size_t i = last; i < begins.size(); ++i) begins[i] = begins[i - 1] + 1;
  }
}

double best_found(const Workload& workload, const ClusterProfile& cluster, Candidate way) {
  way.options.split = best_cut(workload, cluster, way, 30);
  EXPECT_TRUE(fits_in_memory(workload, cluster, way));
  return simulate(workload, cluster, way).seconds;
}

/// Layers of random widths whose times are random too, on hosts that differ.
class RandomNetworks : public testing::TestWithParam<uint32_t> {};

TEST_P(RandomNetworks, AreCutWithinFivePercentOfTheBestOfAllCuts) {
  std::mt19937 random(GetParam());
  const auto draw = [&](double least, double most) {
    return std::uniform_real_distribution<double>(least, most)(random);
  };
  std::vector<int64_t> widths;
  for (int i = 0; i < 12; ++i) widths.push_back(static_cast<int64_t>(draw(8, 400)));
  Workload workload = tower_of(widths, 64, 0.05);
  auto& pass = workload.compute.passes[0];
  pass.seconds = 0;
  for (size_t layer = 0; layer < widths.size(); ++layer) {
    pass.forward[layer] = draw(0.0005, 0.01);
    pass.backward[layer] = draw(1.5, 2.5) * pass.forward[layer];
    pass.seconds += pass.forward[layer] + pass.backward[layer];
  }
  for (const int parts : {2, 3, 4}) {
    for (const int replicas : {1, 2}) {
      for (const int64_t micros : {4, 16}) {
        ClusterProfile cluster = fast_hosts(parts * replicas);
        const double rate = draw(1e6, 100e6);
        for (HostProfile& host : cluster.hosts) {
          host.bandwidth = rate;
          host.latency = 60e-6;
          host.speed = draw(0.5, 1.5);
        }
        const Candidate way = in_parts(parts, micros, replicas);
        EXPECT_LE(best_found(workload, cluster, way), 1.05 * best_of_all(workload, cluster, way))
            << parts << " parts, " << replicas << " replicas, " << micros << " micro-batches";
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomNetworks, testing::Range(1U, 7U));

TEST(Cuts, HostsOfDifferentSpeedGetPartsOfDifferentSize) {
  const Workload workload = tower_of(std::vector<int64_t>(12, 64), 64, 0.6);
  ClusterProfile cluster = fast_hosts(2);
  cluster.hosts[1].speed = 0.5;
  Candidate way = in_parts(2, 64);
  way.options.split = good_cuts(workload, cluster, way, 1).at(0);
  EXPECT_EQ(to_string(way.options.split), "fc8");  // 8 layers for the one, 4 for the other
  EXPECT_NEAR(computing_seconds(workload, cluster, way), 0.4, 0.01);
}

TEST(Cuts, AreWhereFewBytesCross) {
  const Workload workload = tower_of({512, 512, 512, 16, 512, 512, 512}, 64, 0.07);
  ClusterProfile cluster = fast_hosts(2);
  for (HostProfile& host : cluster.hosts) host.bandwidth = 2e6;
  EXPECT_EQ(to_string(good_cuts(workload, cluster, in_parts(2, 8), 1).at(0)), "fc4");
}

TEST(Cuts, EveryPartFitsItsHost) {
  const Workload workload = tower_of({512, 512, 512, 512, 64, 64, 64, 64}, 64, 0.08);
  ClusterProfile cluster = fast_hosts(3);
  const Candidate way = in_parts(3, 8);
  const double whole = memory_of(workload, {});
  for (HostProfile& host : cluster.hosts) host.memory = 0.85 * whole;
  const std::vector<Split> splits = good_cuts(workload, cluster, way, 6);
  ASSERT_FALSE(splits.empty());
  for (HostProfile& host : cluster.hosts) host.memory = 0.1 * whole;
  EXPECT_TRUE(good_cuts(workload, cluster, way, 6).empty());
}

TEST(CutsOfPlans, AThousandOperatorsOnManyHostsArePlannedInTime) {
  const Workload workload = tower_of(std::vector<int64_t>(360, 128), 256, 3);
  EXPECT_GT(workload.network->graph().nodes().size(), 1000U);
  ClusterProfile cluster = fast_hosts(64);
  for (HostProfile& host : cluster.hosts) {
    host.bandwidth = 117e6;
    host.latency = 60e-6;
  }
  const std::clock_t start = std::clock();  // whatever else runs here takes none of it
  const Plan plan = make_plan(workload, cluster, {});
  const double took = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  RecordProperty("seconds", std::to_string(took));
  EXPECT_GT(plan.considered, 100);
  const char* patience = std::getenv("SYRTOS_TEST_PATIENCE");  // of sanitizers
  EXPECT_LT(took, 30 * (patience == nullptr ? 1 : std::atof(patience)));
}

}  // namespace
}  // namespace syrtos::planner
