// Networks in parts: what their steps take, by reckoning and by trying.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "syrtos/base/error.h"
#include "syrtos/planner/part_work.h"
#include "syrtos/planner/plan.h"
#include "syrtos/planner/simulate.h"
#include "tests/planner/towers.h"

namespace syrtos::planner {
namespace {

using strategy::Split;

Candidate in_parts(int parts, int64_t micro_batches, const char* pipeline = "1f1b",
                   int replicas = 1) {
  Candidate candidate;
  candidate.workers = parts * replicas;
  candidate.options.sync = strategy::parse_sync("split");
  candidate.options.split = Split::layers(parts);
  candidate.options.pipeline = strategy::parse_pipeline(pipeline);
  candidate.micro_batches = micro_batches;
  return candidate;
}

TEST(PartsInTime, APipelineOfEqualPartsTakesItsFormula) {
  const Workload workload = tower_of(std::vector<int64_t>(8, 64), 256, 0.8);
  for (const int parts : {2, 4, 8}) {
    for (const int64_t micros : {int64_t{8}, int64_t{16}, int64_t{32}}) {
      for (const char* pipeline : {"1f1b", "fill-drain"}) {
        const Candidate way = in_parts(parts, micros, pipeline);
        const ClusterProfile cluster = fast_hosts(parts);
        const std::vector<double> busy = busy_seconds(workload, way);
        const double slowest = *std::max_element(busy.begin(), busy.end());
        EXPECT_NEAR(slowest, 0.8 / parts, 0.08 / parts);
        const double all = static_cast<double>(micros + parts - 1);
        EXPECT_LE(simulate(workload, cluster, way).seconds,
                  1.02 * all / static_cast<double>(micros) * slowest)
            << parts << " " << micros << " " << pipeline;
        EXPECT_GE(simulate(workload, cluster, way).seconds, 0.999 * slowest);
      }
    }
  }
}

TEST(PartsInTime, InterleavedPiecesMakeTheBubbleShorter) {
  const Workload workload = tower_of(std::vector<int64_t>(8, 64), 256, 0.8);
  const ClusterProfile cluster = fast_hosts(4);
  const double plain = simulate(workload, cluster, in_parts(4, 8)).seconds;
  const double interleaved = simulate(workload, cluster, in_parts(4, 8, "interleaved:2")).seconds;
  EXPECT_NEAR(plain, 0.2 * (8 + 3) / 8, 0.01);
  EXPECT_NEAR(interleaved, 0.2 * (8 + 1.5) / 8, 0.01);
}

TEST(PartsInTime, ASlowHostMakesItsPartSlow) {
  const Workload workload = tower_of(std::vector<int64_t>(4, 64), 256, 0.4);
  ClusterProfile cluster = fast_hosts(2);
  const double even = simulate(workload, cluster, in_parts(2, 16)).seconds;
  cluster.hosts[1].speed = 0.5;
  EXPECT_NEAR(computing_seconds(workload, cluster, in_parts(2, 16)), 0.4, 0.02);
  EXPECT_GT(simulate(workload, cluster, in_parts(2, 16)).seconds, 1.7 * even);
}

TEST(PartsInTime, ReplicasExchangeTheirPartAlone) {
  const Workload workload = tower_of(std::vector<int64_t>(4, 256), 64, 0.4);
  const Candidate way = in_parts(2, 4, "1f1b", 2);
  EXPECT_EQ(worker_batch(workload, way), 32);
  EXPECT_EQ(step_samples(workload, way), 64);
  const StepCost cost = simulate(workload, fast_hosts(4), way);
  // Half of the network each way between two, and one cut's activations and their gradients.
  const double weights = 4.0 * static_cast<double>(workload.compute.elements()) / 2;
  EXPECT_NEAR(cost.wire_bytes, weights + 4.0 * 256 * 32, 0.1 * weights);
}

TEST(PartsInTime, ASlowWireIsWaitedFor) {
  const Workload workload = tower_of(std::vector<int64_t>(4, 256), 64, 0.04);
  ClusterProfile cluster = fast_hosts(2);
  for (HostProfile& host : cluster.hosts) host.bandwidth = 1e6;
  const double bytes = 4.0 * 256 * 64;
  EXPECT_GT(simulate(workload, cluster, in_parts(2, 8)).seconds, bytes / 1e6);
  EXPECT_NEAR(part_wire_bytes(workload, in_parts(2, 8)), bytes, 1);
}

TEST(PartsInMemory, EachHasItsWeightsAndWhatIsOnItsWay) {
  const Workload workload = tower_of(std::vector<int64_t>(4, 512), 64, 0.4);
  const double whole = 12.0 * static_cast<double>(workload.compute.elements());
  const std::vector<double> parts = part_memory(workload, in_parts(4, 1));
  ASSERT_EQ(parts.size(), 4U);
  for (const double bytes : parts) {
    EXPECT_GT(bytes, 0.2 * whole);
    EXPECT_LT(bytes, 0.4 * whole);
  }
  // One by one keeps activations of fewer micro-batches than all forward first.
  const auto most = [&](const char* pipeline) {
    return part_memory(workload, in_parts(2, 16, pipeline))[1];
  };
  EXPECT_LT(most("1f1b"), most("fill-drain"));
}

/// Wide layers on slow wires: no exchange of gradients is worth it.
Workload wide() { return tower_of(std::vector<int64_t>(8, 512), 64, 0.4); }

ClusterProfile slow_hosts(int count, double memory = 0) {
  ClusterProfile cluster = fast_hosts(count);
  for (HostProfile& host : cluster.hosts) {
    host.bandwidth = 10e6;
    host.latency = 60e-6;
    host.memory = memory;
  }
  return cluster;
}

TEST(PlansInParts, AreChosenWhereGradientsAreTooLargeForTheWire) {
  const Plan plan = make_plan(wide(), slow_hosts(4), {});
  const Prediction& best = plan.best();
  EXPECT_TRUE(best.candidate.options.split.cuts()) << way_of(best.candidate);
  EXPECT_EQ(best.candidate.workers, 4);
  EXPECT_EQ(effect_of(best.candidate), "same result");
  EXPECT_GT(best.speed_up, 2);
  EXPECT_THAT(best.reason, testing::HasSubstr("parts compute"));
  // All ways are ranked beside each other.
  const auto best_of = plan.best_of_each_kind();
  for (const int division : {0, 2}) {
    EXPECT_TRUE(std::any_of(best_of.begin(), best_of.end(), [&](const Prediction* way) {
      return way->candidate.workers > 1 && kind_of(way->candidate).division == division;
    })) << division;
  }
}

TEST(PlansInParts, ANetworkThatFitsNoHostGetsAPlan) {
  const double whole = memory_of(wide(), {});
  const Plan plan = make_plan(wide(), slow_hosts(4, 0.6 * whole), {});
  EXPECT_FALSE(plan.alone_fits);
  EXPECT_TRUE(plan.best().candidate.options.split.cuts());
  for (const Prediction& way : plan.ranked) {
    EXPECT_LE(way.memory, 0.6 * whole) << way_of(way.candidate);
  }
}

TEST(PlansInParts, MoreMemoryIsAWishWhereThereIsTooLittle) {
  const auto wishes = [&](double memory) {
    PlanOptions options;
    options.what_if = true;
    options.space.splits = {Split::none(), strategy::parse_split("auto")};
    options.space.syncs = {strategy::parse_sync("split")};
    std::string all;
    for (const WhatIf& one : make_plan(wide(), slow_hosts(4, memory), options).what_ifs) {
      all += one.what + "; ";
    }
    return all;
  };
  const double whole = memory_of(wide(), {});
  EXPECT_THAT(wishes(0.6 * whole), testing::HasSubstr("4 GB more memory"));
  EXPECT_THAT(wishes(4 * whole), testing::Not(testing::HasSubstr("more memory")));
}

TEST(PlansInParts, WhatFitsInNoPartsIsRefusedWithNumbers) {
  const double whole = memory_of(wide(), {});
  try {
    make_plan(wide(), slow_hosts(4, 0.05 * whole), {});
    FAIL() << "it fits";
  } catch (const RequestError& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("of 4 parts the largest needs"));
  }
}

TEST(PlansInParts, OnlyWhatWasAskedForIsConsidered) {
  PlanOptions options;
  options.space.splits = {strategy::parse_split("layers:2")};
  options.space.workers = {1, 4};
  for (const Prediction& way : make_plan(wide(), slow_hosts(4), options).ranked) {
    EXPECT_EQ(way.candidate.options.split.parts, way.candidate.workers > 1 ? 2 : 1);
  }
  options.space.splits = {Split::none()};
  for (const Prediction& way : make_plan(wide(), slow_hosts(4), options).ranked) {
    EXPECT_FALSE(way.candidate.options.split.cuts());
  }
  Workload workload = wide();
  workload.accumulate = 16;
  options.space.splits = {strategy::parse_split("auto")};
  const Plan plan = make_plan(workload, slow_hosts(4), options);
  ASSERT_NE(plan.best_distributed(), nullptr);
  EXPECT_EQ(plan.best_distributed()->candidate.micro_batches, 16);
}

}  // namespace
}  // namespace syrtos::planner
