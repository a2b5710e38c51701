// A network in parts: what crosses between them arrives where and when it is needed.

#include "syrtos/strategy/part_messages.h"

#include <gtest/gtest.h>

#include "syrtos/strategy/all_reduce.h"
#include "syrtos/strategy/pipeline.h"
#include "syrtos/world/local/local.h"
#include "syrtos/world/sim/sim.h"
#include "syrtos/world/tcp/cluster.h"
#include "tests/strategy/toy.h"

namespace syrtos::strategy {
namespace {

constexpr int kBuffers = 2;
constexpr double kForward = 0.010;
constexpr double kBackward = 0.020;

/// Parts in a row that pass numbers on: forward each adds one, backward the number comes back.
class PartReplica final : public ToyReplica {
 public:
  PartReplica(const Team& team, Rank rank, const Pipeline& pipeline, int micros, bool data,
              size_t bytes = sizeof(int64_t))
      : ToyReplica(toy_layout({16}, 64), {}, team.replica_of(rank), data),
        part_(team.part_of(rank)),
        parts_(team.parts),
        pieces_(pipeline.pieces),
        memory_(data ? static_cast<size_t>(4 * pieces_ * kBuffers) : 0) {
    turns_ = turns_of(pipeline, {part_, parts_, 2 * (parts_ - part_) - 1}, micros);
    for (const Turn& turn : turns_) add(turn, bytes);
    own_.front().needs = {0};
    own_.back().finishes = {0};
  }

  const std::vector<Stage>& stages() const override { return own_; }
  void run(size_t stage) override {
    const Turn& turn = turns_[stage];
    const int64_t micro = step * 1000 + turn.micro;
    int64_t value = micro;  // of the first part forward, of the last part backward
    for (const PartMessage& message : own_[stage].arrives) {
      value = *static_cast<int64_t*>(message.memory);
      EXPECT_EQ(value, turn.backward ? micro : micro + 1000000 * piece_of(turn))
          << "part " << part_;
    }
    for (const PartMessage& message : own_[stage].leaves) {
      *static_cast<int64_t*>(message.memory) =
          turn.backward ? micro : micro + 1000000 * (piece_of(turn) + 1);
    }
    if (stage + 1 == own_.size()) ToyReplica::run(2 * layout().buckets.size() - 1);
    if (stage == 0) ToyReplica::run(0);
  }

  int64_t step = 0;

 private:
  /// Of all pieces of the network.
  int piece_of(const Turn& turn) const { return turn.piece * parts_ + part_; }

  void add(const Turn& turn, size_t bytes) {
    Stage& stage = own_.emplace_back();
    stage.seconds = (turn.backward ? kBackward : kForward) / pieces_;
    stage.micro = turn.micro;
    const int piece = piece_of(turn);
    const int last = parts_ * pieces_ - 1;
    const int from = turn.backward ? piece + 1 : piece - 1;
    const int to = turn.backward ? piece - 1 : piece + 1;
    if (from >= 0 && from <= last) stage.arrives.push_back(message(from, piece, turn, 0, bytes));
    if (to >= 0 && to <= last) stage.leaves.push_back(message(piece, to, turn, 1, bytes));
  }

  PartMessage message(int from, int to, const Turn& turn, int side, size_t bytes) {
    const int other = side == 0 ? from : to;
    const int buffer = turn.micro % kBuffers;
    const int place = ((turn.piece * 2 + (turn.backward ? 1 : 0)) * 2 + side) * kBuffers + buffer;
    return {.part = other % parts_,
            .lane = static_cast<uint16_t>(2 * std::min(from, to) + (turn.backward ? 1 : 0)),
            .buffer = buffer,
            .memory = memory_.empty() ? nullptr : &memory_[static_cast<size_t>(place)],
            .bytes = bytes};
  }

  const int part_;
  const int parts_;
  const int pieces_;
  std::vector<Turn> turns_;
  std::vector<Stage> own_;
  std::vector<int64_t> memory_;
};

struct Setting {
  int workers = 2;
  int parts = 2;
  Pipeline pipeline = {};
  int micros = 4;
};

Task<> train(World& world, Setting setting, std::vector<std::vector<float>>& weights) {
  Options options;
  options.split = Split::layers(setting.parts);
  options.pipeline = setting.pipeline;
  const Team team = team_of(options, setting.workers);
  PartReplica replica(team, world.rank(), setting.pipeline, setting.micros, world.carries_data());
  AllReduceTraining strategy(world, team, options, replica);
  co_await strategy.begin();
  for (int64_t step = 0; step < 3; ++step) {
    replica.step = step;
    StepInfo info;
    info.step = step;
    info.hyper.learning_rate = 0.1;
    co_await strategy.step(info);
  }
  co_await strategy.settle();
  weights[static_cast<size_t>(world.rank())] = replica.values();
}

void expect_same_in_each_group(world::Cluster& cluster, const Setting& setting) {
  std::vector<std::vector<float>> weights(static_cast<size_t>(setting.workers));
  world::run_all(cluster, [&](World& world) { return train(world, setting, weights); });
  for (int rank = 0; rank < setting.workers; ++rank) {
    const auto& own = weights[static_cast<size_t>(rank)];
    EXPECT_EQ(own, weights[static_cast<size_t>(rank % setting.parts)]) << rank;
    EXPECT_NE(own[1], ToyReplica({toy_layout({16}, 64)}, {}, 0).values()[1])
        << "nothing was learnt";
  }
}

class Parts : public testing::TestWithParam<Setting> {};

TEST_P(Parts, PassOnWhatTheOthersNeedInThisProcess) {
  world::LocalCluster cluster(GetParam().workers);
  expect_same_in_each_group(cluster, GetParam());
}

TEST_P(Parts, PassOnWhatTheOthersNeedOverTcp) {
  world::TcpCluster cluster(GetParam().workers);
  expect_same_in_each_group(cluster, GetParam());
}

TEST_P(Parts, PassOnWhatTheOthersNeedInASimulatedCluster) {
  world::SimCluster cluster(world::uniform_cluster(GetParam().workers, 1e9, 1e-4));
  expect_same_in_each_group(cluster, GetParam());
}

INSTANTIATE_TEST_SUITE_P(Ways, Parts,
                         testing::Values(Setting{2, 2, {}, 1}, Setting{2, 2, {}, 5},
                                         Setting{3, 3, {}, 8}, Setting{4, 2, {}, 4},
                                         Setting{6, 3, {}, 6},
                                         Setting{4, 4, {Pipeline::Kind::fill_drain}, 6},
                                         Setting{2, 2, {Pipeline::Kind::interleaved, 2}, 4},
                                         Setting{6, 3, {Pipeline::Kind::interleaved, 3}, 6}));

/// Sizes and times alone.
double simulated_seconds(const Setting& setting, size_t bytes, double bytes_per_s,
                         double deadline = 600) {
  world::SimOptions options = world::uniform_cluster(setting.workers, bytes_per_s, 1e-5);
  options.carry_data = false;
  world::SimCluster cluster(options);
  double seconds = 0;
  world::run_all(cluster, [&](World& world) -> Task<> {
    world.set_deadline(deadline);
    Options way;
    way.split = Split::layers(setting.parts);
    const Team team = team_of(way, setting.workers);
    PartReplica replica(team, world.rank(), setting.pipeline, setting.micros, false, bytes);
    Meter meter(world);
    Arrivals arrivals(world, meter, 1);
    PartMessages messages(world, meter, team.replica_ranks(team.replica_of(world.rank())));
    const collective::Group group = collective::Group::of(world, {world.rank()});
    co_await run_pass(
        world, group, replica, arrivals, meter, 0, [](int) {}, nullptr, &messages);
    seconds = std::max(seconds, world.now());
    co_await messages.settle();
    const collective::Group all = collective::Group::all(world);
    co_await collective::barrier(world, all, {world::Purpose::barrier});
  });
  return seconds;
}

TEST(PartMessages, CrossBesideComputing) {
  // A message takes half as long as what is computed meanwhile: it is hidden but at the ends.
  const Setting setting{4, 4, {}, 16};
  const double bytes_per_s = 1e8;
  const auto bytes = static_cast<size_t>(0.5 * kForward * bytes_per_s);
  const double slot = kForward + kBackward;
  const double ideal = slot * (setting.micros + setting.parts - 1);
  const double seconds = simulated_seconds(setting, bytes, bytes_per_s);
  EXPECT_GT(seconds, ideal);
  EXPECT_LT(seconds, 1.1 * ideal);
  EXPECT_LT(simulated_seconds(setting, 8, bytes_per_s), 1.01 * ideal);
}

// A message is asked for when its pass begins, and the pass may last for hours.
TEST(PartMessages, HaveADeadlineOnlyWhileSomebodyWaits) {
  const Setting setting{4, 4, {}, 32};
  const double longest_wait = setting.parts * (kForward + kBackward);
  const double deadline = 1.5 * longest_wait;
  EXPECT_GT(simulated_seconds(setting, 8, 1e9, deadline), 4 * deadline);
  EXPECT_THROW(simulated_seconds(setting, 8, 1e9, kForward), world::DeadlinePassed);
}

TEST(PartMessages, OfALostPartEndThePass) {
  world::SimOptions options = world::uniform_cluster(2, 1e9, 1e-4);
  world::SimCluster cluster(options);
  const auto errors = cluster.run([&](World& world) -> Task<> {
    if (world.rank() == 1) fail_run("gone");
    std::vector<std::vector<float>> weights(2);
    co_await train(world, {2, 2, {}, 2}, weights);
  });
  ASSERT_TRUE(errors[0]);
  try {
    std::rethrow_exception(errors[0]);
  } catch (const world::PeerLost& lost) {
    EXPECT_EQ(lost.rank(), 1);
  }
}

}  // namespace
}  // namespace syrtos::strategy
