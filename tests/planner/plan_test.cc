#include "syrtos/planner/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "syrtos/base/error.h"
#include "syrtos/planner/host_order.h"

namespace syrtos::planner {
namespace {

using testing::HasSubstr;
using testing::Not;

/// The set-up of the published figures (docs/studies/b.md): GTX 970 nodes, 1 Gbit/s Ethernet, D =
/// 128 batches. t_comm is the time in which all weights cross once.
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
  options.goal = Goal::time;
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

std::string refusal(const Workload& workload, const ClusterProfile& cluster) {
  try {
    make_plan(workload, cluster, {});
  } catch (const RequestError& error) {
    return error.what();
  }
  return "";
}

TEST(Plan, RanksEpochsAndNamesReasons) {
  PlanOptions options;
  options.goal = Goal::time;
  const Plan plan = make_plan(measured(), nodes(4), options);
  ASSERT_GT(plan.ranked.size(), 10U);
  EXPECT_LE(plan.best().epoch_s, 1.02 * plan.ranked[5].epoch_s);
  EXPECT_FALSE(plan.best().reason.empty());
  EXPECT_LE(plan.best().low_s, plan.best().epoch_s);
  EXPECT_GE(plan.best().high_s, plan.best().epoch_s);
  EXPECT_NEAR(plan.alone.epoch_s, 12.8, 1e-6);
  for (const Curve& curve : plan.curves) {
    for (size_t i = 1; i < curve.points.size(); ++i) {
      EXPECT_GT(curve.points[i].candidate.workers, curve.points[i - 1].candidate.workers);
    }
  }
}

TEST(Plan, TheResultIsNotTradedForSpeedUnasked) {
  const Plan plan = make_plan(measured(), nodes(4), {});
  EXPECT_EQ(effect_of(plan.best().candidate), "same result");
  EXPECT_GT(plan.best().candidate.workers, 1);
  const std::vector<const Prediction*> faster = plan.faster_with_another_result();
  ASSERT_FALSE(faster.empty());
  for (const Prediction* way : faster) {
    EXPECT_LT(way->epoch_s, plan.best().epoch_s);
    EXPECT_NE(risk_of(measured(), way->candidate), "");
  }
  PlanOptions options;
  options.goal = Goal::time;
  const Plan fastest = make_plan(measured(), nodes(4), options);
  EXPECT_LT(fastest.best().epoch_s, plan.best().epoch_s);
  EXPECT_NE(effect_of(fastest.best().candidate), "same result");
}

TEST(Plan, WhatWasAskedForIsNoTrade) {
  PlanOptions options;
  options.space.wires = {strategy::parse_wire("bf16")};
  const Plan rounded = make_plan(measured(), nodes(4), options);
  EXPECT_GT(rounded.best().candidate.workers, 1);
  EXPECT_EQ(effect_of(rounded.best().candidate), "same result, rounded");
  options = {};
  options.space.syncs = {strategy::parse_sync("join")};
  EXPECT_EQ(effect_of(make_plan(measured(), nodes(4), options).best().candidate), "batch x 4");
}

TEST(Plan, GradientsThatAreThrownAwayAreNotCounted) {
  PlanOptions options = ways("ps", {"join", "backup:1"});
  options.space.workers = {1, 3};
  const Plan plan = make_plan(published("light", 0.1, 0.002), nodes(4), options);
  double join = 0;
  double backup = 0;
  for (const Prediction& way : plan.ranked) {
    if (way.candidate.workers == 1) continue;
    (way.candidate.options.sync.left_out() > 0 ? backup : join) = way.speed_up;
  }
  EXPECT_GT(join, 2.5);
  EXPECT_LT(backup, 2.01);
  EXPECT_GT(backup, 1.5);
}

TEST(Plan, AGainThatIsNotCertainIsNoneAndOneHostIsRecommended) {
  // Two workers gain a little, but the network may be half as fast.
  ClusterProfile cluster = nodes(2);
  cluster.spread = 0.5;
  const Plan plan =
      make_plan(published("heavy", 0.1, 0.09), cluster, ways("allreduce:ring", {"join"}));
  const Prediction* other = plan.best_distributed();
  ASSERT_NE(other, nullptr);
  EXPECT_GT(other->speed_up, 1);
  EXPECT_LT(other->slowest_speed_up(), 1);
  EXPECT_EQ(plan.best().candidate.workers, 1);
  EXPECT_EQ(plan.gain_ends_at, 1);
}

TEST(Plan, HugeBatchesAreWarnedOf) {
  Workload workload = published("light", 0.1, 0.001);
  workload.samples = 50'000;
  EXPECT_TRUE(make_plan(workload, nodes(4), {}).notes.empty());
  workload.batch = 16'384;
  const Plan plan = make_plan(workload, nodes(4), {});
  ASSERT_EQ(plan.notes.size(), 1U);
  EXPECT_THAT(plan.notes[0], HasSubstr("16,384 samples and an epoch 4 steps"));
}

TEST(Plan, TimesThatCannotAllBeRightAreNamed) {
  Workload workload = measured();
  workload.compute.passes[0].seconds = 0.02;  // of 32 samples, where 64 take 0.1
  const Plan plan = make_plan(workload, nodes(2), {});
  ASSERT_FALSE(plan.notes.empty());
  EXPECT_THAT(plan.notes[0], HasSubstr("do not fit together"));
}

TEST(Plan, ADisturbedMeasurementMakesNobodyFasterThanThereAreWorkers) {
  Workload workload = measured();
  ASSERT_EQ(workload.compute.passes[0].batch, 32);
  ASSERT_EQ(workload.compute.passes[1].batch, 64);
  workload.compute.passes[1].seconds = 6 * workload.compute.passes[0].seconds;
  const double believed = 2 * workload.compute.passes[0].seconds;
  PlanOptions options;
  options.goal = Goal::time;
  const Plan plan = make_plan(workload, nodes(4), options);
  for (const Prediction& way : plan.ranked) {
    EXPECT_LE(way.speed_up, way.candidate.workers + 1e-6) << way_of(way.candidate);
  }
  EXPECT_NEAR(plan.alone.step.computing, believed, 1e-9);
  EXPECT_THAT(plan.notes, testing::Contains(HasSubstr("do not fit together")));
  EXPECT_THAT(plan.notes, testing::Contains(HasSubstr("; planned with ")));
  // Replayed passes take the times of the file, whatever they are.
  workload.replayed = true;
  EXPECT_NEAR(make_plan(workload, nodes(2), options).alone.step.computing, 3 * believed, 1e-9);
}

TEST(Plan, MoreThanAsManyTimesAsWorkersIsSaidToBeDoubtful) {
  Workload workload = measured();
  // Caches may do that.
  workload.compute.passes[1].seconds = 2.4 * workload.compute.passes[0].seconds;
  PlanOptions options = ways("allreduce:ring", {"split"});
  ClusterProfile cluster = nodes(2);
  for (HostProfile& host : cluster.hosts) host.bandwidth = 1e12;
  const Plan plan = make_plan(workload, cluster, options);
  ASSERT_GT(plan.best().speed_up, 2);
  EXPECT_THAT(plan.notes, testing::Contains(HasSubstr("more than their number")));
}

TEST(Plan, TheBestHostsAreUsedNotTheFirstOnes) {
  ClusterProfile cluster = nodes(5);
  cluster.hosts[0].bandwidth /= 20;
  cluster.hosts[2].speed = 0.25;
  const Workload workload = measured();
  const ClusterProfile ordered = best_first(workload, cluster);
  std::vector<std::string> names;
  for (const HostProfile& host : ordered.hosts) names.push_back(host.name);
  EXPECT_THAT(names,
              testing::ElementsAre("node2", "node4", "node5", testing::AnyOf("node1", "node3"),
                                   testing::AnyOf("node1", "node3")));
  PlanOptions options = ways("allreduce:ring", {"join"});
  options.space.workers = {1, 3};
  EXPECT_GT(make_plan(workload, ordered, options).best().speed_up,
            2 * make_plan(workload, cluster, options).best().speed_up);
}

TEST(Plan, WeightsAloneCanBeTooLarge) {
  Workload workload = published("huge", 100, 5600);  // 175 G parameters, memory not measured
  ClusterProfile cluster = nodes(4);
  for (HostProfile& host : cluster.hosts) host.memory = 64e9;
  EXPECT_THAT(refusal(workload, cluster), HasSubstr("not even a batch of 1 would fit"));
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

TEST(Plan, FasterHostsHelpWhatComputesAlsoWhenThatIsReplayed) {
  PlanOptions options = ways("allreduce:ring", {"join"});
  options.what_if = true;
  Workload workload = published("light", 0.1, 0.001);
  workload.replayed = true;
  const Plan plan = make_plan(workload, nodes(4), options);
  EXPECT_THAT(plan.what_ifs.front().what, HasSubstr("twice as fast"));
  EXPECT_GT(plan.what_ifs.front().gain, 1.7);
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
  PlanOptions options;
  options.what_if = true;  // a batch that is twice as large fits nowhere
  const Plan plan = make_plan(measured(), cluster, options);
  EXPECT_FALSE(plan.alone_fits);
  EXPECT_FALSE(plan.what_ifs.empty());
  for (const WhatIf& one : plan.what_ifs) EXPECT_THAT(one.what, Not(HasSubstr("batch")));
  EXPECT_EQ(plan.best().candidate.options.sync.kind, strategy::Sync::Kind::split);
  for (const Prediction& prediction : plan.ranked) EXPECT_LE(prediction.memory, 1.5e9);
}

TEST(Plan, IsMadeOfTheMostPromisingWayWhereNothingElseWasSimulated) {
  ClusterProfile cluster = nodes(2);
  for (HostProfile& host : cluster.hosts) host.memory = 1.5e9;  // alone it does not fit
  PlanOptions options;
  options.should_stop = [] { return true; };
  EXPECT_EQ(make_plan(measured(), cluster, options).ranked.size(), 1);
  options.should_stop = {};
  options.effort = 1;
  EXPECT_GE(make_plan(measured(), cluster, options).ranked.size(), 1);
}

}  // namespace
}  // namespace syrtos::planner
