#include "syrtos/planner/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "syrtos/base/error.h"

namespace syrtos::planner {
namespace {

using testing::HasSubstr;

/// The set-up of SEEDS.md's published figures: GTX 970 nodes, 1 Gbit/s Ethernet, D = 128 batches.
/// t_comm is the time in which all weights cross once.
Workload published(const char* network, double t_grad, double t_comm) {
  constexpr double kLine = 125e6;
  Workload workload;
  workload.batch = 64;
  workload.samples = 128 * workload.batch;
  workload.compute.network = network;
  // Layers of equal size: only the totals were published.
  constexpr size_t kLayers = 8;
  const auto elements = static_cast<size_t>(t_comm * kLine / 4 / kLayers);
  workload.compute.tensors.assign(kLayers, elements);
  strategy::ComputeTimes::Pass pass;
  pass.batch = workload.batch;
  pass.seconds = t_grad;
  for (size_t i = 0; i < kLayers; ++i) {
    pass.needed.push_back(0);
    pass.ready.push_back(t_grad);  // nothing was exchanged before the end of a pass
  }
  workload.compute.passes.push_back(pass);
  return workload;
}

ClusterProfile nodes(int hosts) {
  ClusterProfile cluster;
  HostProfile host;
  host.bandwidth = 125e6;
  host.latency = 100e-6;
  for (int i = 0; i < hosts; ++i) {
    host.name = "node" + std::to_string(i + 1);
    cluster.hosts.push_back(host);
  }
  return cluster;
}

PlanOptions ways(const char* exchange, const std::vector<const char*>& syncs) {
  PlanOptions options;
  options.space.exchanges.push_back(strategy::parse_exchange(exchange));
  for (const char* sync : syncs) options.space.syncs.push_back(strategy::parse_sync(sync));
  options.space.wires.push_back({});
  return options;
}

TEST(PublishedFigures, Vgg16ShouldNotBeDistributed) {
  const Workload vgg = published("VGG16E", 0.719, 5.153);
  for (const char* exchange : {"ps", "ps-colocated"}) {
    const Plan plan = make_plan(vgg, nodes(9), ways(exchange, {"join", "split", "async"}));
    EXPECT_EQ(plan.best().candidate.workers, 1) << exchange;
    EXPECT_EQ(plan.gain_ends_at, 1);
  }
}

TEST(PublishedFigures, TheOthersGainWithADistributedServer) {
  const auto speed_up = [](const Workload& workload) {
    const Plan plan = make_plan(workload, nodes(8), ways("ps-colocated", {"join"}));
    EXPECT_EQ(plan.best().candidate.workers, 8);
    return plan.best().speed_up;
  };
  const double squeezenet = speed_up(published("SqueezeNet", 0.758, 0.033));
  const double googlenet = speed_up(published("GoogLeNet", 0.763, 0.210));
  const double resnet34 = speed_up(published("ResNet-34", 0.821, 0.811));
  // Measured: 6.5, 4 and 2.1.
  EXPECT_GT(squeezenet, 6.5);
  EXPECT_NEAR(googlenet, 5, 1.2);
  EXPECT_NEAR(resnet34, 2.7, 0.7);
  EXPECT_GT(squeezenet, googlenet);
  EXPECT_GT(googlenet, resnet34);
  EXPECT_GT(resnet34, 1.5);
}

TEST(PublishedFigures, SqueezeNetSplitWithACentralServerIsFastestOnFour) {
  const Plan plan =
      make_plan(published("SqueezeNet", 0.758, 0.033), nodes(9), ways("ps", {"split"}));
  EXPECT_EQ(plan.best().candidate.workers, 4);
}

Workload measured() {
  Workload workload = published("toy", 0.1, 0.02);
  workload.compute.passes[0].memory = 2e9;
  strategy::ComputeTimes::Pass half = workload.compute.passes[0];
  half.batch = 32;
  half.seconds = 0.06;
  half.memory = 1.2e9;
  half.ready.assign(half.ready.size(), half.seconds);
  workload.compute.passes.insert(workload.compute.passes.begin(), half);
  return workload;
}

TEST(Plan, RanksEpochsAndNamesReasons) {
  const Plan plan = make_plan(measured(), nodes(4), {});
  ASSERT_GT(plan.ranked.size(), 10U);
  EXPECT_LE(plan.best().epoch_s, 1.02 * plan.ranked[5].epoch_s);
  EXPECT_FALSE(plan.best().reason.empty());
  EXPECT_LE(plan.best().low_s, plan.best().epoch_s);
  EXPECT_GE(plan.best().high_s, plan.best().epoch_s);
  EXPECT_EQ(effect_of(plan.best_same_result().candidate), "same result");
  EXPECT_NEAR(plan.alone.epoch_s, 12.8, 1e-6);
  for (const Curve& curve : plan.curves) {
    for (size_t i = 1; i < curve.points.size(); ++i) {
      EXPECT_GT(curve.points[i].candidate.workers, curve.points[i - 1].candidate.workers);
    }
  }
}

TEST(Plan, TheGoalDecides) {
  PlanOptions options;
  options.goal = Goal::cost;
  EXPECT_EQ(make_plan(measured(), nodes(4), options).best().candidate.workers, 1);
  options.goal = Goal::efficiency;
  const Plan plan = make_plan(measured(), nodes(4), options);
  EXPECT_GE(plan.best().efficiency(), kEfficient);
}

TEST(Plan, AFasterNetworkHelpsWhatWaitsForIt) {
  PlanOptions options = ways("allreduce:ring", {"join"});
  options.what_if = true;
  const Plan plan = make_plan(published("heavy", 0.1, 0.2), nodes(4), options);
  ASSERT_FALSE(plan.what_ifs.empty());
  EXPECT_THAT(plan.what_ifs.front().what, HasSubstr("10 times faster"));
  EXPECT_GT(plan.what_ifs.front().gain, 2);
}

std::string refusal(const Workload& workload, const ClusterProfile& cluster) {
  try {
    make_plan(workload, cluster, {});
  } catch (const RequestError& error) {
    return error.what();
  }
  return "";
}

TEST(Plan, ANetworkThatDoesNotFitIsRefusedWithWhatWould) {
  ClusterProfile cluster = nodes(2);
  for (HostProfile& host : cluster.hosts) host.memory = 1e9;
  const std::string text = refusal(measured(), cluster);
  EXPECT_THAT(text, HasSubstr("needs 2.0 GB per worker, 1.0 GB more than the 1.0 GB of node1"));
  EXPECT_THAT(text, HasSubstr("a batch of 16 per worker would fit"));
}

TEST(Plan, WhatFitsOnlyWhenSplitIsSplit) {
  ClusterProfile cluster = nodes(2);
  for (HostProfile& host : cluster.hosts) host.memory = 1.5e9;
  const Plan plan = make_plan(measured(), cluster, {});
  EXPECT_FALSE(plan.alone_fits);
  EXPECT_EQ(plan.best().candidate.options.sync.kind, strategy::Sync::Kind::split);
  for (const Prediction& prediction : plan.ranked) EXPECT_LE(prediction.memory, 1.5e9);
}

}  // namespace
}  // namespace syrtos::planner
