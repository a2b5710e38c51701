#include "syrtos/strategy/pass.h"

#include <gtest/gtest.h>

#include "syrtos/world/local/local.h"
#include "syrtos/world/sim/sim.h"
#include "syrtos/world/tcp/cluster.h"
#include "tests/strategy/toy.h"

namespace syrtos::strategy {
namespace {

using world::Cluster;

constexpr size_t kStages = 6;
constexpr size_t kNever = kStages;

/// Writes down which stages ran. One may fail; after the first all ranks add up a number.
class Recording final : public ToyReplica {
 public:
  Recording(World& world, size_t fails)
      : ToyReplica(toy_layout({16, 16, 16}, 64), {}, world.rank()), fails_(fails) {
    own_ = ToyReplica::stages();
    own_[0].sums = {{&sum_, 1}};
    sum_ = static_cast<float>(world.rank() + 1);
  }
  const std::vector<Stage>& stages() const override { return own_; }
  void run(size_t stage) override {
    ran.push_back(stage);
    if (stage == 1) seen = sum_;
    if (stage == fails_) fail_run("stage {} failed", stage);
    ToyReplica::run(stage);
  }

  std::vector<size_t> ran;
  float seen = 0;  // by the second stage

 private:
  const size_t fails_;
  std::vector<Stage> own_;
  float sum_ = 0;
};

Task<> pass(World& world, Recording& replica, std::vector<int>& finished) {
  Meter meter(world);
  Arrivals arrivals(world, meter, replica.layout().buckets.size());
  const collective::Group all = collective::Group::all(world);
  co_await run_pass(world, all, replica, arrivals, meter, 0,
                    [&](int bucket) { finished.push_back(bucket); });
}

Task<> whole_pass(World& world) {
  Recording replica(world, kNever);
  std::vector<int> finished;
  co_await pass(world, replica, finished);
  EXPECT_EQ(replica.ran, (std::vector<size_t>{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(finished, (std::vector<int>{0, 1, 2}));
  EXPECT_EQ(replica.seen, 3) << "the second stage began before the sums of the first were there";
}

Task<> failing_pass(World& world) {
  Recording replica(world, 3);
  std::vector<int> finished;
  std::string error;
  try {
    co_await pass(world, replica, finished);
  } catch (const RunError& thrown) {
    error = thrown.what();
  }
  EXPECT_EQ(error, "stage 3 failed");
  EXPECT_EQ(finished, std::vector<int>{}) << "of a pass that failed in its first backward stage";
  // Whatever stood in line is gone, and the rank can go on.
  bool computed = false;
  co_await world.compute(0, [&] { computed = true; });
  EXPECT_TRUE(computed);
}

/// The third stage computes and the fourth stands in line. Time is simulated: sleeps take none.
Task<> pass_that_is_given_up(World& world) {
  Recording replica(world, kNever);
  std::vector<int> finished;
  {
    const world::Started passing(world, pass(world, replica, finished));
    while (replica.ran.size() < 2) co_await world.sleep(0.0001);
    EXPECT_FALSE(passing.done());
  }
  co_await world.sleep(1);
  EXPECT_EQ(replica.ran, (std::vector<size_t>{0, 1}));
}

void run_everywhere(const world::RankProgram& program) {
  world::LocalCluster local(2);
  world::run_all(local, program);
  world::SimCluster sim(world::uniform_cluster(2, 1e9, 1e-4));
  world::run_all(sim, program);
  world::TcpCluster tcp(2);
  world::run_all(tcp, program);
}

TEST(Pass, RunsStagesInOrderAndAfterTheSumsThatTheyNeed) { run_everywhere(whole_pass); }

TEST(Pass, EndsWithTheErrorOfAStage) { run_everywhere(failing_pass); }

TEST(Pass, RunsNoFurtherStageOnceItIsGivenUp) {
  world::SimCluster sim(world::uniform_cluster(2, 1e9, 1e-4));
  world::run_all(sim, pass_that_is_given_up);
}

}  // namespace
}  // namespace syrtos::strategy
