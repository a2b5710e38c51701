// What workers go on from when another one is lost.

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace syrtos::train
