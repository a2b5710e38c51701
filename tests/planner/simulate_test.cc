#include "syrtos/planner/simulate.h"

#include <gtest/gtest.h>

#include "syrtos/planner/candidates.h"

namespace syrtos::planner {
namespace {

using strategy::parse_exchange;
using strategy::parse_sync;
using strategy::parse_wire;

/// One tensor of 1 MB whose gradient is final at the end of a pass of 0.1 s, or as many as asked
/// for, and no time for updates: steps can be reckoned by hand.
Workload simple(size_t tensors = 1) {
  Workload workload;
  workload.batch = 32;
  workload.samples = 32000;
  workload.compute.network = "simple";
  workload.compute.tensors.assign(tensors, 250'000 / tensors);
  strategy::ComputeTimes::Pass pass;
  pass.batch = 32;
  pass.seconds = 0.1;
  pass.needed.assign(tensors, 0);
  pass.ready.assign(tensors, 0.1);
  workload.compute.passes.push_back(pass);
  return workload;
}

Candidate way(int workers, const char* exchange, const char* sync = "join",
              const char* wire = "f32") {
  Candidate candidate;
  candidate.workers = workers;
  candidate.options.exchange = parse_exchange(exchange);
  candidate.options.sync = parse_sync(sync);
  candidate.options.wire = parse_wire(wire);
  candidate.options.update = parse_update("auto", candidate.options.exchange);
  return candidate;
}

/// 10 MB/s, next to no latency.
ClusterProfile slow_hosts(int hosts) {
  ClusterProfile cluster;
  cluster.uneven_sharing = 0;  // as in closed formulas
  for (int i = 0; i < hosts; ++i) {
    HostProfile host;
    host.name = std::string(1, static_cast<char>('a' + i));
    host.bandwidth = 10e6;
    host.latency = 1e-9;
    cluster.hosts.push_back(host);
  }
  return cluster;
}

TEST(Simulate, AloneAStepIsItsComputing) {
  const StepCost cost = simulate(simple(), slow_hosts(1), {});
  EXPECT_NEAR(cost.seconds, 0.1, 1e-9);
  EXPECT_EQ(cost.wire_bytes, 0);
}

TEST(Simulate, ARingTakesItsClosedFormulaAfterComputing) {
  for (const int n : {2, 3, 4, 8}) {
    const StepCost cost = simulate(simple(), slow_hosts(n), way(n, "allreduce:ring"));
    const double bytes = 2.0 * (n - 1) / n * 1e6;
    EXPECT_NEAR(cost.seconds, 0.1 + bytes / 10e6, 2e-4) << n;
    EXPECT_NEAR(cost.wire_bytes, bytes, 0.02 * bytes) << n;
  }
}

TEST(Simulate, HalfTheBytesTakeHalfTheTime) {
  const StepCost cost = simulate(simple(), slow_hosts(4), way(4, "allreduce:ring", "join", "bf16"));
  EXPECT_NEAR(cost.seconds, 0.1 + 0.75e6 / 10e6, 2e-4);
}

TEST(Simulate, ACentralServerReceivesAndSendsTheGradientsOfAll) {
  // All push at once, and with one piece nothing is sent before everything has arrived: the
  // formula's worst case, 2 N t_comm + t_grad.
  for (const int n : {1, 2, 4}) {
    const StepCost cost = simulate(simple(), slow_hosts(n + 1), way(n, "ps"));
    EXPECT_NEAR(cost.seconds, 0.1 + 2 * n * 0.1, 1e-3) << n;
  }
}

TEST(Simulate, StreamsThatShareUnevenlyMakeAServersRepliesLate) {
  // A server answers a piece when the last worker's has come: where some are ahead of others, less
  // of what goes out overlaps with what comes in.
  Workload workload = simple(20);
  ClusterProfile cluster = slow_hosts(5);
  Candidate servers = way(4, "ps");
  servers.options.bucket_mb = 0.05;
  const double even = simulate(workload, cluster, servers).seconds - 0.1;
  cluster.uneven_sharing = -1;
  const double uneven = simulate(workload, cluster, servers).seconds - 0.1;
  EXPECT_GT(even, 0.4);  // what one direction takes
  EXPECT_GT(uneven, 1.03 * even);
  EXPECT_LT(uneven, 0.8);  // without any overlap
}

TEST(Simulate, ServersInWorkersTakeTheFormulaOfADistributedServer) {
  // 2 t_comm (N - 1) / N + t_grad: pieces of equal size on every worker.
  const StepCost cost = simulate(simple(), slow_hosts(4), way(4, "ps-colocated"));
  EXPECT_NEAR(cost.seconds, 0.1 + 2 * 0.1 * 3 / 4, 2e-3);
}

TEST(Simulate, SplitComputesAShareOfTheBatch) {
  const Workload workload = simple();
  EXPECT_EQ(worker_batch(workload, way(4, "allreduce", "split")), 8);
  EXPECT_EQ(step_samples(workload, way(4, "allreduce", "split")), 32);
  EXPECT_EQ(steps_per_epoch(workload, way(4, "allreduce", "split")), 1000);
  EXPECT_EQ(steps_per_epoch(workload, way(4, "allreduce", "join")), 250);
  const StepCost cost = simulate(workload, slow_hosts(4), way(4, "allreduce:ring", "split"));
  EXPECT_NEAR(cost.seconds, 0.025 + 0.15, 2e-4);
}

TEST(Simulate, ALayeredNetworkHidesItsExchange) {
  Workload workload = simple(10);
  auto& pass = workload.compute.passes[0];
  for (size_t i = 0; i < 10; ++i) {  // as layers are: the last one is final first
    pass.needed[i] = 0.03 * (9 - static_cast<double>(i)) / 10;
    pass.ready[i] = 0.03 + 0.07 * (static_cast<double>(i) + 1) / 10;
  }
  Candidate ring = way(4, "allreduce:ring");
  ring.options.bucket_mb = 0.1;
  const StepCost hidden = simulate(workload, slow_hosts(4), ring);
  const StepCost exposed = simulate(simple(10), slow_hosts(4), ring);
  EXPECT_NEAR(exposed.seconds, 0.25, 1e-3);
  EXPECT_LT(hidden.seconds, 0.17);  // the wire alone needs 0.15
  EXPECT_GT(hidden.seconds, 0.1499);
}

TEST(Simulate, ASlowHostHoldsUpAJoinButNotWhoLeavesItOut) {
  ClusterProfile cluster = slow_hosts(4);
  for (HostProfile& host : cluster.hosts) host.bandwidth = 1e9;
  cluster.hosts[1].speed = 0.5;
  EXPECT_NEAR(simulate(simple(), cluster, way(3, "ps")).seconds, 0.2, 0.01);
  EXPECT_NEAR(simulate(simple(), cluster, way(3, "ps", "backup:1")).seconds, 0.1, 0.02);
}

TEST(Simulate, VaryingComputingMakesAllWaitForTheSlowest) {
  Workload workload = simple();
  workload.compute.jitter = 0.1;
  ClusterProfile cluster = slow_hosts(9);
  for (HostProfile& host : cluster.hosts) host.bandwidth = 1e9;
  const double join = simulate(workload, cluster, way(8, "allreduce")).seconds;
  const double backup = simulate(workload, cluster, way(8, "ps", "backup:2")).seconds;
  EXPECT_GT(join, 0.105);
  EXPECT_LT(backup, join);
  workload.replayed = true;
  EXPECT_NEAR(simulate(workload, cluster, way(8, "allreduce")).seconds, 0.1, 0.005);
}

TEST(Simulate, WhatAllHostsCanMoveAtOnceIsALimit) {
  ClusterProfile cluster = slow_hosts(4);
  cluster.all_at_once = 20e6;  // of 40
  const StepCost cost = simulate(simple(), cluster, way(4, "allreduce:ring"));
  EXPECT_NEAR(cost.seconds, 0.1 + 2 * 0.15, 1e-3);
}

TEST(Simulate, MovingBytesTakesCoresFromComputing) {
  ClusterProfile cluster = slow_hosts(2);
  Workload workload = simple(2);
  workload.compute.passes[0].ready = {0.05, 0.1};
  workload.compute.threads = 1;
  for (HostProfile& host : cluster.hosts) {
    host.cores = 1;
    host.core_s_per_gb = 20;
  }
  const double busy = simulate(workload, cluster, way(2, "allreduce:ring")).seconds;
  for (HostProfile& host : cluster.hosts) host.cores = 0;
  const double free = simulate(workload, cluster, way(2, "allreduce:ring")).seconds;
  EXPECT_GT(busy, free + 0.005);
}

TEST(Simulate, TheSameSeedGivesTheSameStep) {
  Workload workload = simple();
  workload.compute.jitter = 0.1;
  const Candidate candidate = way(4, "ps", "ssp:2");
  const double once = simulate(workload, slow_hosts(5), candidate, 7).seconds;
  EXPECT_EQ(once, simulate(workload, slow_hosts(5), candidate, 7).seconds);
  EXPECT_NE(once, simulate(workload, slow_hosts(5), candidate, 8).seconds);
}

TEST(Simulate, EveryWayThatMakesSenseRuns) {
  Workload workload = simple(5);
  workload.compute.update_s = 0.001;
  const ClusterProfile cluster = slow_hosts(6);
  for (const Candidate& candidate : candidates({}, cluster, workload)) {
    const StepCost cost = simulate(workload, cluster, candidate);
    const double bound = bound_seconds(workload, cluster, candidate);
    EXPECT_GE(cost.seconds, 0.98 * bound) << candidate.workers << " " << way_of(candidate);
    EXPECT_LT(cost.seconds, 6 * bound) << candidate.workers << " " << way_of(candidate);
    EXPECT_GE(effort_of(workload, cluster, candidate), cost.messages) << way_of(candidate);
  }
}

}  // namespace
}  // namespace syrtos::planner
