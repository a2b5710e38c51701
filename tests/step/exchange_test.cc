// An exchange allocates nothing once it has run some times: neither a prepared all-reduce nor a
// whole training step around it, in one process and over sockets or common memory.
//
// How many messages come before they are awaited, and how many frames are in use at once, depends
// on threads: what is kept for them grows until it is enough. So each test goes on until many
// rounds have passed without an allocation of any rank; if each round makes one, that never comes.

#include <gtest/gtest.h>

#include <functional>
#include <memory>

#include "syrtos/collective/collective.h"
#include "syrtos/strategy/strategy.h"
#include "syrtos/world/local/local.h"
#include "syrtos/world/started.h"
#include "syrtos/world/tcp/cluster.h"
#include "tests/step/allocations.h"
#include "tests/strategy/toy.h"

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

namespace syrtos {
namespace {

using collective::Algorithm;
using collective::Element;
using collective::Group;
using collective::PreparedAllReduce;
using collective::ReduceOptions;
using world::Started;
using world::Task;
using world::World;

constexpr int kRanks = 3;
constexpr uint32_t kQuietRounds = 50;
constexpr uint32_t kMostRounds = 5000;

/// Rank 0 watches the count of the whole process; all ranks end in the same round, which rank 0
/// tells them with an all-reduce of its own.
class Quiet {
 public:
  Quiet(World& world, const Group& group)
      : world_(world),
        told_(world, group, {&over_, 1, Element::i64},
              {.algorithm = Algorithm::doubling,
               .reduction = collective::Reduction::max,
               .tag = {world::Purpose::control, 1}}) {}

  /// True: it is time to end.
  Task<bool> after(uint32_t round) {
    const int now = allocations::ours;
    quiet_ = now == seen_ ? quiet_ + 1 : 0;
    seen_ = now;
    over_ = world_.rank() == 0 && (quiet_ >= kQuietRounds || round >= kMostRounds) ? 1 : 0;
    co_await told_.run(round);
    co_return over_ == 1;
  }
  uint32_t rounds() const { return quiet_; }

 private:
  World& world_;
  int64_t over_ = 0;
  PreparedAllReduce told_;
  int seen_ = -1;
  uint32_t quiet_ = 0;
};

struct Bucket {
  size_t elements;
  ReduceOptions options;
};

const std::vector<Bucket> kBuckets = {
    {10, {.algorithm = Algorithm::doubling}},
    {5'000, {.algorithm = Algorithm::ring}},
    {5'000, {.algorithm = Algorithm::tree, .as_bf16 = true}},
    {50'000, {.algorithm = Algorithm::halving_doubling, .as_bf16 = true, .slices = 2}},
    {300'000, {.algorithm = Algorithm::ring, .slices = 2}},
};

/// All buckets cross beside each other, round after round.
Task<> reduce_until_quiet(World& world, uint32_t& quiet_rounds) {
  const Group group = Group::all(world);
  std::vector<std::vector<float>> values;
  std::vector<std::unique_ptr<PreparedAllReduce>> sums;
  for (size_t b = 0; b < kBuckets.size(); ++b) {
    values.emplace_back(kBuckets[b].elements);
    ReduceOptions options = kBuckets[b].options;
    options.tag.item = static_cast<uint16_t>(b);
    sums.push_back(std::make_unique<PreparedAllReduce>(
        world, group, collective::Floats{values[b].data(), values[b].size()}, options));
  }
  Quiet quiet(world, group);
  std::vector<Started> running(sums.size());
  for (uint32_t round = 0;; ++round) {
    for (auto& bucket : values) std::fill(bucket.begin(), bucket.end(), 1.0F);
    for (size_t b = 0; b < sums.size(); ++b) running[b] = Started(world, sums[b]->run(round));
    for (Started& one : running) co_await one.join();
    for (const auto& bucket : values) {
      EXPECT_EQ(bucket.front(), world.size());
      EXPECT_EQ(bucket.back(), world.size());
    }
    if (co_await quiet.after(round)) break;
  }
  if (world.rank() == 0) quiet_rounds = quiet.rounds();
}

Task<> train_until_quiet(World& world, strategy::Options options, uint32_t& quiet_rounds) {
  const Group group = Group::all(world);
  strategy::ToyReplica replica(strategy::toy_layout({3'000, 40'000, 10, 100'000}, 100'000), {},
                               world.rank());
  const auto strategy = strategy::make_strategy(world, {world.size(), 0}, options, {}, replica);
  co_await strategy->begin();
  Quiet quiet(world, group);
  strategy::StepInfo info;
  info.hyper.learning_rate = 0.01;
  for (uint32_t round = 0;; ++round) {
    info.step = round;
    co_await strategy->step(info);
    if (co_await quiet.after(round)) break;
  }
  if (world.rank() == 0) quiet_rounds = quiet.rounds();
  co_await strategy->settle();
  co_await strategy->end();
}

struct Kind {
  const char* name;
  std::unique_ptr<world::Cluster> (*make)();
};

const Kind kKinds[] = {
    {"Local", [] { return std::unique_ptr<world::Cluster>(new world::LocalCluster(kRanks)); }},
    {"Sockets",
     [] {
       world::TcpOptions options;
       options.shared_memory = false;
       return std::unique_ptr<world::Cluster>(new world::TcpCluster(kRanks, options));
     }},
    {"CommonMemory", [] { return std::unique_ptr<world::Cluster>(new world::TcpCluster(kRanks)); }},
};

class ExchangeIn : public testing::TestWithParam<Kind> {
 protected:
  uint32_t quiet_rounds_of(const std::function<Task<>(World&, uint32_t&)>& program) {
    const auto cluster = GetParam().make();
    uint32_t quiet = 0;
    allocations::ours = 0;
    allocations::counting = true;
    try {
      run_all(*cluster, [&](World& world) { return program(world, quiet); });
    } catch (...) {
      allocations::counting = false;
      throw;
    }
    allocations::counting = false;
    allocations::ours = 0;
    return quiet;
  }
};

TEST_P(ExchangeIn, PreparedAllReducesAllocateNothing) {
  EXPECT_GE(quiet_rounds_of(reduce_until_quiet), kQuietRounds);
}

TEST_P(ExchangeIn, ATrainingStepAllocatesNothing) {
  for (const char* sync : {"join", "local:2"}) {
    strategy::Options options;
    options.sync = strategy::parse_sync(sync);
    const auto train = [&](World& world, uint32_t& quiet) {
      return train_until_quiet(world, options, quiet);
    };
    EXPECT_GE(quiet_rounds_of(train), kQuietRounds) << sync;
  }
}

INSTANTIATE_TEST_SUITE_P(Worlds, ExchangeIn, testing::ValuesIn(kKinds),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace syrtos

#endif
