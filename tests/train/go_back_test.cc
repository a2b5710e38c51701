// What workers go on from when another one is lost.

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "tests/train/team.h"

namespace syrtos::train {
namespace {

class GoingBack : public Distributed {
 protected:
  /// Two workers, of which the second is lost after so many steps of the first; what that one goes
  /// on from.
  std::optional<Carried> lose_one(const JobRequest& request, int64_t after) const {
    Job job = resolve(request, cpu_info(), "nowhere");
    job.strategy.survives = true;
    std::deque<Trainer> trainers;
    for (int worker = 0; worker < 2; ++worker) trainers.emplace_back(job, worker);
    trainers[0].begin();
    world::LocalCluster cluster(2);
    Losing losing(cluster, after);
    Silent silent;
    std::vector<Outcome> outcomes(2);
    const std::vector<std::exception_ptr> errors = cluster.run([&](World& world) -> Task<> {
      const auto rank = static_cast<size_t>(world.rank());
      TrainObserver& observer = rank == 0 ? static_cast<TrainObserver&>(losing) : silent;
      return keep_result(trainers[rank].run(world, observer, [] { return false; }), outcomes[rank]);
    });
    EXPECT_TRUE(errors[0] != nullptr);
    return trainers[0].leave_team();
  }

 private:
  class Losing final : public Silent {
   public:
    Losing(world::LocalCluster& cluster, int64_t after) : cluster_(cluster), after_(after) {}
    void step(const StepProgress& info) override {
      if (info.step == after_) cluster_.lose(1);
    }

   private:
    world::LocalCluster& cluster_;
    const int64_t after_;
  };
};

TEST_F(GoingBack, LeadsToTheLastAverageHoweverLongAgoThatIs) {
  JobRequest job = small_job("run");
  job.network = "mlp";
  job.workers = 2;
  job.samples = 12000;
  job.batch = 4;
  job.sync = "local:1200";
  job.exchange = "allreduce";
  const std::optional<Carried> carried = lose_one(job, 1100);
  ASSERT_TRUE(carried.has_value());
  EXPECT_EQ(carried->snapshot.position.step, 0);
  EXPECT_EQ(carried->snapshot.position.used, 0);
}

/// Data on a disk that stops to answer for a while.
class StuckData final : public data::Dataset {
 public:
  StuckData(std::shared_ptr<const data::Dataset> base, const std::atomic<bool>& stuck)
      : base_(std::move(base)), stuck_(stuck) {
    info_ = base_->info();
  }
  data::Target target(int64_t index) const override { return base_->target(index); }
  data::Sample read(int64_t index, data::Scratch& scratch) const override {
    while (stuck_) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return base_->read(index, scratch);
  }

 private:
  const std::shared_ptr<const data::Dataset> base_;
  const std::atomic<bool>& stuck_;
};

/// From its second step on the other one is stuck, and this one waits no longer than that.
class AfterTwoSteps final : public Silent {
 public:
  explicit AfterTwoSteps(std::atomic<bool>& stuck) : stuck_(stuck) {}
  void step(const StepProgress& info) override {
    if (info.step != 2) return;
    stuck_ = true;
    world->set_deadline(1);
  }

  World* world = nullptr;

 private:
  std::atomic<bool>& stuck_;
};

TEST_F(GoingBack, IsPossibleWhereAnotherOneIsThereButNeverComes) {
  JobRequest request = small_job("run");
  request.samples = 1000;
  request.workers = 2;
  request.sync = "split";
  request.exchange = "allreduce";
  Job job = resolve(request, cpu_info(), "nowhere");
  job.strategy.survives = true;
  std::atomic<bool> stuck = false;
  std::deque<Trainer> trainers;
  trainers.emplace_back(job, 0);
  job.data.train = std::make_shared<StuckData>(job.data.train, stuck);
  trainers.emplace_back(job, 1);
  trainers[0].begin();
  AfterTwoSteps first(stuck);
  Silent other;
  std::vector<Outcome> outcomes(2);
  world::TcpCluster cluster(2);
  const std::vector<std::exception_ptr> errors = cluster.run([&](World& world) -> Task<> {
    const auto rank = static_cast<size_t>(world.rank());
    if (rank == 0) first.world = &world;
    TrainObserver& observer = rank == 0 ? static_cast<TrainObserver&>(first) : other;
    std::exception_ptr failure;
    try {
      co_await keep_result(trainers[rank].run(world, observer, [] { return false; }),
                           outcomes[rank]);
    } catch (const RunError&) {
      failure = std::current_exception();
    }
    stuck = false;
    if (failure) std::rethrow_exception(failure);
  });
  ASSERT_TRUE(errors[0]);
  try {
    std::rethrow_exception(errors[0]);
  } catch (const world::DeadlinePassed& late) {
    EXPECT_EQ(late.rank(), 1);
  }
  const std::optional<Carried> carried = trainers[0].leave_team();
  ASSERT_TRUE(carried.has_value());
  EXPECT_GE(carried->snapshot.position.step, 2);
}

}  // namespace
}  // namespace syrtos::train
