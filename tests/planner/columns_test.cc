// Networks whose weights are dense layers: dividing these makes them worth distributing.

#include <gtest/gtest.h>

#include "syrtos/planner/candidates.h"
#include "syrtos/planner/cluster_profile.h"
#include "syrtos/planner/plan.h"

namespace syrtos::planner {
namespace {

/// Layers of weights in the order of the backward pass, and what a pass takes.
Workload network_of(const char* name, const std::vector<strategy::DenseShape>& dense, size_t others,
                    double dense_share, int64_t batch, double seconds_per_sample) {
  Workload workload;
  workload.batch = batch;
  workload.samples = 100 * batch;
  strategy::ComputeTimes& times = workload.compute;
  times.network = name;
  times.threads = 2;
  auto& pass = times.passes.emplace_back();
  pass.batch = batch;
  pass.seconds = seconds_per_sample * static_cast<double>(batch);
  const double forward = pass.seconds / 3;
  const double backward = pass.seconds - forward;
  const auto count = static_cast<double>(dense.size());
  for (size_t i = 0; i < dense.size(); ++i) {
    times.dense.push_back({i, dense[i], {}});
    times.tensors.push_back(dense[i].inputs * dense[i].outputs);
    const auto at = static_cast<double>(i + 1);
    pass.needed.push_back(forward * (1 - dense_share * at / count));
    pass.ready.push_back(forward + backward * dense_share * at / count);
  }
  times.tensors.push_back(others);
  pass.needed.push_back(0);
  pass.ready.push_back(pass.seconds);
  times.update_s = 1e-10 * static_cast<double>(times.elements());
  return workload;
}

Workload alexnet(int64_t batch) {
  return network_of("alexnet", {{4096, 1000, 4}, {4096, 4096, 4}, {9216, 4096, 4}}, 2469696, 0.3,
                    batch, 3.4e-3);
}

Workload vgg(int64_t batch) {
  return network_of("vgg16e", {{4096, 1000, 4}, {4096, 4096, 4}, {25088, 4096, 4}}, 20024384, 0.1,
                    batch, 40e-3);
}

const ClusterProfile& cluster() {
  static const ClusterProfile eight = assumed_cluster("8 hosts, 1 Gbit/s, 60 us");
  return eight;
}

double seconds_of(const Workload& workload, const char* sync, strategy::Split split) {
  Candidate candidate{8, {}};
  candidate.options.exchange = strategy::parse_exchange("allreduce:ring");
  candidate.options.sync = strategy::parse_sync(sync);
  candidate.options.split = split;
  return simulate(workload, cluster(), candidate).seconds;
}

TEST(ColumnsPlan, DividedLayersMakeAStepManyTimesShorter) {
  EXPECT_LT(3 * seconds_of(alexnet(42), "join", strategy::Split::columns()),
            seconds_of(alexnet(42), "join", strategy::Split::none()));
  EXPECT_LT(2 * seconds_of(vgg(32), "join", strategy::Split::columns()),
            seconds_of(vgg(32), "join", strategy::Split::none()));
}

TEST(ColumnsPlan, IsRecommendedWhereEveryDataParallelWayLoses) {
  for (const Workload& workload : {alexnet(336), vgg(256)}) {
    PlanOptions options;
    options.effort = 1e6;
    options.space.splits = {strategy::Split::none()};
    const Plan before = make_plan(workload, cluster(), options);
    options.space.splits = {};
    const Plan after = make_plan(workload, cluster(), options);
    EXPECT_TRUE(after.best().candidate.options.splits_columns()) << way_of(after.best().candidate);
    EXPECT_GT(after.best().speed_up, 1.5) << workload.compute.network;
    EXPECT_GT(after.best().speed_up, 1.5 * before.best().speed_up) << workload.compute.network;
    EXPECT_TRUE(after.best().keeps_result);
  }
}

TEST(ColumnsPlan, AStepIsNoShorterThanItsBound) {
  for (const char* sync : {"join", "split"}) {
    for (const int workers : {2, 3, 5, 8}) {
      Candidate candidate{workers, {}};
      candidate.options.exchange = strategy::parse_exchange("allreduce:ring");
      candidate.options.sync = strategy::parse_sync(sync);
      candidate.options.split = strategy::Split::columns();
      const Workload workload = alexnet(64);
      EXPECT_GE(simulate(workload, cluster(), candidate).seconds,
                0.99 * bound_seconds(workload, cluster(), candidate))
          << workers << " " << sync;
    }
  }
}

TEST(ColumnsPlan, NetworksWithoutLargeDenseLayersHaveNone) {
  Workload workload = alexnet(42);
  workload.compute.dense.clear();
  for (const Candidate& candidate : candidates({}, cluster(), workload)) {
    EXPECT_FALSE(candidate.options.splits_columns());
  }
}

}  // namespace
}  // namespace syrtos::planner
