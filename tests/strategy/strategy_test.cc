#include "syrtos/strategy/strategy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "syrtos/optim/clip.h"
#include "syrtos/strategy/servers/commands.h"
#include "syrtos/world/local/local.h"
#include "tests/strategy/toy.h"

namespace syrtos::strategy {
namespace {

using world::LocalCluster;

constexpr int kSteps = 12;

struct Trial {
  Layout layout;
  optim::OptimizerOptions optimizer;
  Options options;
  Team team;
  double clip = 0;
  double weight = 1;
  std::vector<double> shares;  // weights of each worker, if they differ
  int idle = 0;                // workers that have no samples in the last step
  int early = 0;               // steps that worker 0 takes less
  int64_t updates_before = 0;  // of the run that goes on
  int steps = kSteps;
  std::vector<std::vector<float>> weights;  // of each worker, afterwards
  std::vector<std::vector<float>> kept;     // at rank 0
  std::map<int64_t, int64_t> staleness;
};

optim::Hyper hyper_of(int64_t step) {
  return {.learning_rate = 0.05 / (1 + static_cast<double>(step) / 50),
          .weight_decay = 1e-3,
          .step = step};
}

double weight_of(const Trial& run, Rank worker, int64_t step) {
  if (worker < run.idle && step == run.steps - 1) return 0;
  return run.shares.empty() ? run.weight : run.shares[static_cast<size_t>(worker)];
}

Task<> work(World& world, Trial& run) {
  if (world.rank() >= run.team.workers) {
    co_await serve(world, run.team, run.options, run.optimizer);
    co_return;
  }
  ToyReplica replica(run.layout, run.optimizer, world.rank());
  if (world.rank() != 0) {
    for (float& w : replica.values()) w = NAN;  // everybody gets rank 0's
  }
  const auto strategy = make_strategy(world, run.team, run.options, run.optimizer, replica);
  co_await strategy->begin();
  const int64_t steps = world.rank() == 0 ? run.steps - run.early : run.steps;
  for (int64_t step = 0; step < steps;) {
    StepInfo info;
    info.step = step;
    info.weight = weight_of(run, world.rank(), step);
    info.hyper = hyper_of(step);
    info.hyper.step += run.updates_before;
    info.clip = run.clip;
    step += co_await strategy->step(info);
  }
  co_await strategy->settle();
  const collective::Group workers = collective::Group::of(world, run.team.worker_ranks());
  co_await collective::barrier(world, workers, {world::Purpose::barrier, 0, 0});
  co_await strategy->agree();
  co_await collective::barrier(world, workers, {world::Purpose::barrier, 0, 1});
  co_await strategy->collect();
  co_await strategy->end();
  EXPECT_TRUE(replica.consistent()) << "weights changed while a pass was reading them";
  run.weights[static_cast<size_t>(world.rank())] = replica.values();
  if (world.rank() == 0) {
    for (const Floats& arena : replica.kept()) {
      run.kept.emplace_back(arena.data, arena.data + arena.count);
    }
    run.staleness = strategy->staleness();
  }
}

void run_all_ranks(Trial& run) {
  run.team = team_of(run.options, run.team.workers);
  run.weights.resize(static_cast<size_t>(run.team.workers));
  LocalCluster cluster(run.team.ranks());
  world::run_all(cluster, [&](World& world) { return work(world, run); });
}

/// The mean gradient of all workers, one step after the other.
struct Sequential {
  std::vector<float> weights;
  std::vector<std::vector<float>> kept;
};
Sequential train_alone(const Trial& run) {
  ToyReplica replica(run.layout, run.optimizer, 0);
  const size_t elements = run.layout.elements();
  for (int64_t step = 0; step < run.steps; ++step) {
    const Floats gradients = replica.gradients();
    for (const Bucket& bucket : run.layout.buckets) {
      for (size_t i = bucket.first; i < bucket.first + bucket.count; ++i) {
        double sum = 0;
        for (int worker = 0; worker < run.team.workers; ++worker) {
          sum += replica.values()[i] - ToyReplica::goal(worker, i);
        }
        gradients.data[i] = static_cast<float>(run.weight * sum / run.team.workers);
      }
    }
    optim::Hyper hyper = hyper_of(step);
    hyper.step += run.updates_before;
    if (run.clip > 0) hyper.gradient_scale = optim::clip_scale(replica.gradient_norm(), run.clip);
    replica.update(0, elements, hyper);
  }
  Sequential result{replica.values(), {}};
  for (const Floats& arena : replica.kept()) {
    result.kept.emplace_back(arena.data, arena.data + arena.count);
  }
  return result;
}

double difference(const std::vector<float>& a, const std::vector<float>& b,
                  bool common_only = false) {
  EXPECT_EQ(a.size(), b.size());
  double most = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    if (common_only && !ToyReplica::common(i)) continue;
    most = std::max(most, std::fabs(double{a[i]} - b[i]));
  }
  return most;
}

Trial make_run(int workers, const char* exchange, const char* sync, const char* wire = "f32",
               const char* update = "auto") {
  Trial run;
  run.layout = toy_layout({100, 3, 700, 64, 1, 2000, 33}, 2000);
  run.optimizer.method = optim::Method::momentum;
  run.options.exchange = parse_exchange(exchange);
  run.options.sync = parse_sync(sync);
  run.options.wire = parse_wire(wire);
  run.options.update = parse_update(update, run.options.exchange);
  run.team.workers = workers;
  return run;
}

struct Case {
  int workers;
  const char* exchange;
  const char* update;
  int permits;
};

void PrintTo(const Case& tested, std::ostream* out) {
  *out << tested.workers << " " << tested.exchange << " " << tested.update << " " << tested.permits;
}

class Synchronous : public testing::TestWithParam<Case> {};

TEST_P(Synchronous, IsTheSameAsTrainingAlone) {
  Trial run = make_run(GetParam().workers, GetParam().exchange, "join", "f32", GetParam().update);
  run.options.permits = GetParam().permits;
  run_all_ranks(run);
  const Sequential alone = train_alone(run);
  for (const auto& weights : run.weights) EXPECT_LT(difference(weights, alone.weights), 1e-4);
  for (const auto& weights : run.weights) EXPECT_EQ(weights, run.weights[0]);
  ASSERT_EQ(run.kept.size(), alone.kept.size());
  for (size_t i = 0; i < run.kept.size(); ++i) {
    EXPECT_LT(difference(run.kept[i], alone.kept[i]), 1e-4) << "what the optimiser keeps";
  }
}

INSTANTIATE_TEST_SUITE_P(
    Exchanges, Synchronous,
    testing::Values(
        Case{1, "allreduce", "auto", 0}, Case{2, "allreduce:ring", "auto", 0},
        Case{3, "allreduce:ring", "auto", 0}, Case{4, "allreduce:halving-doubling", "auto", 0},
        Case{5, "allreduce:halving-doubling", "auto", 0}, Case{4, "allreduce:tree", "auto", 0},
        Case{5, "allreduce:doubling", "auto", 0}, Case{4, "allreduce:hierarchical", "auto", 0},
        Case{3, "allreduce", "auto", 0}, Case{1, "ps", "server", 0}, Case{3, "ps", "server", 0},
        Case{3, "ps", "worker", 0}, Case{4, "ps", "server", 1}, Case{4, "ps", "worker", 2},
        Case{3, "ps-sharded:2", "server", 0}, Case{4, "ps-sharded:3", "worker", 0},
        Case{4, "ps-sharded:3", "server", 1}, Case{3, "ps-colocated", "server", 0},
        Case{4, "ps-colocated", "worker", 0}, Case{2, "ps-colocated", "server", 1}));

TEST(Clipping, LooksAtTheNormOfTheMeanGradient) {
  for (const char* exchange : {"allreduce:ring", "ps"}) {
    Trial run = make_run(3, exchange, "join", "f32", "worker");
    run.clip = 5;
    run_all_ranks(run);
    EXPECT_LT(difference(run.weights[2], train_alone(run).weights), 1e-4) << exchange;
  }
}

TEST(Weights, OfUnequalSharesCount) {
  for (const char* exchange : {"allreduce:ring", "ps"}) {
    Trial run = make_run(3, exchange, "join");
    run.weight = 0.5;
    run_all_ranks(run);
    EXPECT_LT(difference(run.weights[1], train_alone(run).weights), 1e-4) << exchange;
  }
}

TEST(Bf16OnTheWire, StaysNear) {
  for (const char* exchange : {"allreduce:ring", "allreduce:tree", "ps", "ps-colocated"}) {
    Trial run = make_run(4, exchange, "join", "bf16");
    run_all_ranks(run);
    const Sequential alone = train_alone(run);
    EXPECT_LT(difference(run.weights[0], alone.weights), 0.1) << exchange;
    EXPECT_GT(difference(run.weights[0], alone.weights), 0) << exchange << " sent f32";
    for (const auto& weights : run.weights) EXPECT_EQ(weights, run.weights[0]) << exchange;
  }
}

/// A float of which bf16 loses nothing.
bool is_rounded(float value) {
  uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof(bits));
  return (bits & 0xFFFFU) == 0;
}

TEST(Bf16OnTheWire, DoesNotRoundTheWeightsThatAllAgreeOn) {
  for (const char* sync : {"join", "async", "ssp:1", "backup:1"}) {
    for (const char* exchange : {"ps", "ps-colocated"}) {
      Trial run = make_run(2, exchange, sync, "bf16");
      run_all_ranks(run);
      const auto rounded = std::count_if(run.weights[0].begin(), run.weights[0].end(), is_rounded);
      EXPECT_LT(rounded, static_cast<int64_t>(run.weights[0].size()) / 2) << sync;
      EXPECT_EQ(run.weights[1], run.weights[0]) << sync;
    }
  }
}

TEST(ThresholdOnTheWire, ComesNearTheGoalInTheEnd) {
  for (const char* exchange : {"allreduce", "ps", "ps-sharded:2"}) {
    Trial run = make_run(3, exchange, "join", "threshold:10");
    run.optimizer.method = optim::Method::sgd;
    run.steps = 400;
    run_all_ranks(run);
    const Sequential alone = train_alone(run);
    EXPECT_LT(difference(run.weights[0], alone.weights), 1.0) << exchange;
    for (const auto& weights : run.weights) EXPECT_EQ(weights, run.weights[0]) << exchange;
  }
}

TEST(LocalSteps, OfOneAreTheMeanOfWhatEachWouldDo) {
  Trial run = make_run(3, "allreduce:ring", "local:1");
  run.optimizer.method = optim::Method::sgd;  // then averaging weights is averaging gradients
  run_all_ranks(run);
  EXPECT_LT(difference(run.weights[0], train_alone(run).weights), 1e-4);
}

TEST(LocalSteps, AgreeAtTheEnd) {
  Trial run = make_run(3, "allreduce", "local:5");  // 12 steps: the last 2 are averaged by agree()
  run_all_ranks(run);
  for (const auto& weights : run.weights) EXPECT_EQ(weights, run.weights[0]);
}

/// Plain descent comes to the goal, or between the goals of the workers where they differ, up to
/// the `left` rest of the way.
void expect_between_goals(const std::vector<float>& weights, int workers, const Layout& layout,
                          double left) {
  for (const optim::Segment& tensor : layout.tensors) {
    for (size_t i = tensor.offset; i < tensor.offset + tensor.elements; ++i) {
      double least = ToyReplica::goal(0, i);
      double largest = least;
      for (int worker = 1; worker < workers; ++worker) {
        least = std::min<double>(least, ToyReplica::goal(worker, i));
        largest = std::max<double>(largest, ToyReplica::goal(worker, i));
      }
      ASSERT_GE(weights[i], least - left) << "element " << i;
      ASSERT_LE(weights[i], largest + left) << "element " << i;
    }
  }
}

class Free : public testing::TestWithParam<std::pair<const char*, const char*>> {};

TEST_P(Free, WorkersEndWithTheServersWeightsNearTheGoal) {
  const auto& [exchange, sync] = GetParam();
  Trial run = make_run(4, exchange, sync);
  run.optimizer.method = optim::Method::sgd;
  run.steps = 200;
  run_all_ranks(run);
  for (const auto& weights : run.weights) EXPECT_EQ(weights, run.weights[0]);
  // The learning rates of 200 steps add up to 4.0, so exp(-4.0) of at most 17 is left to go, and
  // weight decay keeps a thousandth of 11 away from the goal.
  expect_between_goals(run.weights[0], run.team.workers, run.layout, 17 * std::exp(-4.0) + 0.02);
  // Every worker pushes each piece in each step, but with backup those who were late leave steps
  // out.
  const auto pieces = static_cast<int64_t>(place_on_servers(run.layout, run.team.serving()).size());
  int64_t pushes = 0;
  for (const auto& [stale, count] : run.staleness) pushes += count;
  const int64_t all = run.steps * pieces * run.team.workers;
  if (run.options.sync.left_out() > 0) {
    EXPECT_GE(pushes, run.steps * pieces * (run.team.workers - run.options.sync.left_out()));
    EXPECT_LE(pushes, all);
  } else {
    EXPECT_EQ(pushes, all);
  }
}

INSTANTIATE_TEST_SUITE_P(Modes, Free,
                         testing::Values(std::pair{"ps", "async"},
                                         std::pair{"ps-colocated", "async"},
                                         std::pair{"ps-sharded:2", "ssp:2"},
                                         std::pair{"ps", "ssp:0"}, std::pair{"ps", "backup:1"},
                                         std::pair{"ps-sharded:3", "backup:2"}));

TEST(FreeWorkers, ARunThatGoesOnCountsItsUpdatesOn) {
  for (const char* sync : {"async", "ssp:1", "join"}) {
    Trial run = make_run(1, "ps", sync);
    run.optimizer.method = optim::Method::adam;
    run.updates_before = 30;
    run_all_ranks(run);
    EXPECT_LT(difference(run.weights[0], train_alone(run).weights), 1e-4) << sync;
  }
}

TEST(FreeWorkers, AWorkerWithoutSamplesChangesNothing) {
  for (const auto& [exchange, sync] :
       {std::pair{"ps", "async"}, {"ps-sharded:2", "ssp:1"}, {"allreduce", "local:1"}}) {
    for (const char* wire : {"f32", "bf16"}) {
      Trial run = make_run(1, exchange, sync, wire);
      run.idle = 1;
      run_all_ranks(run);
      Trial shorter = make_run(1, exchange, sync, wire);
      shorter.steps = run.steps - 1;
      run_all_ranks(shorter);
      EXPECT_EQ(run.weights[0], shorter.weights[0]) << sync;
      EXPECT_EQ(run.kept, shorter.kept) << sync << ": momentum";
      EXPECT_EQ(run.staleness, shorter.staleness) << sync;
    }
  }
}

TEST(Backup, AStepIsTheMeanOfThoseThatHaveSamples) {
  for (const int idle : {1, 2}) {
    Trial run = make_run(3, "ps", "backup:1");
    run.idle = idle;
    run_all_ranks(run);
    EXPECT_LT(difference(run.weights[0], train_alone(run).weights, true), 1e-4) << idle;
  }
}

TEST(Backup, SharesCountByTheirSamples) {
  Trial run = make_run(3, "ps", "backup:1");
  run.shares = {0.75, 1.5, 0.75};
  run_all_ranks(run);
  EXPECT_LT(difference(run.weights[0], train_alone(run).weights, true), 1e-4);
}

TEST(FreeWorkers, NobodyWaitsForAWorkerThatHasStopped) {
  for (const char* sync : {"ssp:0", "ssp:2", "backup:1"}) {
    Trial run = make_run(2, "ps-sharded:2", sync);
    run.early = 6;
    run_all_ranks(run);
    EXPECT_EQ(run.weights[0], run.weights[1]) << sync;
  }
}

Tag turn(uint32_t number) { return {Purpose::barrier, 0, number}; }

/// Pushes and goes on with its pass until the other has taken a step.
Task<> compute_long(World& world, Trial& run) {
  ToyReplica replica(run.layout, run.optimizer, world.rank());
  const auto strategy = make_strategy(world, run.team, run.options, run.optimizer, replica);
  co_await strategy->begin();
  const Push header;
  const std::vector<float> gradient(run.layout.elements());
  const size_t bytes = gradient.size() * sizeof(float);
  std::byte byte{1};
  const Rank server = 2;
  co_await world.send(server, header_tag(0, 0), world::Source{&header, sizeof(header)});
  co_await world.recv(server, permit_tag(0, 0), world::Target{&byte, 1});
  co_await world.send(server, push_tag(0, 0), world::Source{gradient.data(), bytes});
  co_await world.send(0, turn(0), world::Source{});
  co_await world.recv(0, turn(1), world::Target{});
  co_await world.send(server, ready_tag(0, 0), world::Source{&byte, 1});
  Pull reply;
  co_await world.recv(server, answer_tag(0, 0), world::Target{&reply, sizeof(reply)});
  co_await world.recv(server, pull_tag(0, 0), world::Target{replica.values().data(), bytes});
  co_await world.send(0, turn(2), world::Source{});
  co_await strategy->end();
}

Task<> take_a_step(World& world, Trial& run) {
  ToyReplica replica(run.layout, run.optimizer, world.rank());
  const auto strategy = make_strategy(world, run.team, run.options, run.optimizer, replica);
  co_await strategy->begin();
  co_await world.recv(1, turn(0), world::Target{});
  StepInfo info;
  info.hyper = hyper_of(0);
  co_await strategy->step(info);
  co_await strategy->settle();
  co_await world.send(1, turn(1), world::Source{});
  co_await world.recv(1, turn(2), world::Target{});
  EXPECT_TRUE(replica.consistent());
  co_await strategy->end();
}

TEST(Permits, AreNotHeldByAWorkerThatStillComputes) {
  Trial run = make_run(2, "ps", "async");
  run.layout = toy_layout({64}, 1000);
  run.options.permits = 1;
  run.team.servers = 1;
  LocalCluster cluster(3);
  world::run_all(cluster, [&](World& world) {
    if (world.rank() == 2) return serve(world, run.team, run.options, run.optimizer);
    return world.rank() == 0 ? take_a_step(world, run) : compute_long(world, run);
  });
}

/// A server that ends where a worker waits for it: before its permit, or before its answer.
Task<> end_early(World& world, const Trial& run) {
  const Layout layout = co_await receive_layout(world);
  std::vector<float> arena(layout.elements());
  const size_t bytes = arena.size() * sizeof(float);
  for (uint32_t i = 0; i < 2; ++i) {  // weights and momentum
    co_await world.recv(0, arena_tag(0, i), world::Target{arena.data(), bytes});
  }
  Push push;
  co_await world.recv(0, header_tag(0, 0), world::Target{&push, sizeof(push)});
  if (run.options.permits > 0) co_return;
  co_await world.recv(0, push_tag(0, 0), world::Target{arena.data(), bytes});
}

std::string text_of(const std::exception_ptr& error) {
  try {
    if (error) std::rethrow_exception(error);
  } catch (const world::PeerLost& lost) {
    return lost.what();
  }
  return "";
}

TEST(LostServer, IsNamedWithWhatItWasToSend) {
  for (const int permits : {0, 1}) {
    Trial run = make_run(1, "ps", "join");
    run.layout = toy_layout({64}, 1000);
    run.options.permits = permits;
    run.team = team_of(run.options, 1);
    LocalCluster cluster(run.team.ranks());
    const auto errors = cluster.run(
        [&](World& world) { return world.rank() == 0 ? work(world, run) : end_early(world, run); });
    EXPECT_THAT(text_of(errors[0]),
                testing::HasSubstr(permits > 0 ? "waiting for permit 0, round 0"
                                               : "waiting for server's answer 0, round 0"));
  }
}

/// A worker that ends as soon as the server could serve it.
Task<> begin_only(World& world, Trial& run) {
  ToyReplica replica(run.layout, run.optimizer, world.rank());
  const auto strategy = make_strategy(world, run.team, run.options, run.optimizer, replica);
  co_await strategy->begin();
}

TEST(LostWorker, IsNamedWithWhatItWasToSend) {
  Trial run = make_run(2, "ps", "join");
  run.layout = toy_layout({64}, 1000);
  run.team = team_of(run.options, 2);
  run.weights.resize(2);
  LocalCluster cluster(run.team.ranks());
  const auto errors = cluster.run(
      [&](World& world) { return world.rank() == 1 ? begin_only(world, run) : work(world, run); });
  EXPECT_THAT(text_of(errors[2]), testing::HasSubstr("waiting for push header 0, round 0"));
}

}  // namespace
}  // namespace syrtos::strategy
