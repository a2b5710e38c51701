#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <filesystem>

#include "syrtos/train/team/thread_team.h"
#include "tests/train/small_job.h"

namespace syrtos::train {
namespace {

using testing::HasSubstr;

class Losses : public TrainObserver {
 public:
  void started(const StartInfo&) override {}
  void step(const StepProgress&) override { ++steps; }
  void epoch(const EpochMetrics& metrics) override { train_loss.push_back(metrics.train_loss); }

  int64_t steps = 0;
  std::vector<double> train_loss;
};

class Hogwild : public SmallJobs {
 protected:
  JobRequest small_job(const std::string& run, int64_t workers) const {
    JobRequest job = SmallJobs::small_job(run);
    job.batch = 8;
    job.epochs = 3;
    job.workers = workers;
    job.exchange = "shared";
    job.sync = "async";
    return job;
  }

  static Job resolved(const JobRequest& job) { return resolve(job, cpu_info(), "nowhere"); }
  static bool never() { return false; }

  static std::vector<float> weights(Trainer& trainer) {
    const std::span<float> values = trainer.network().parameters().weights();
    return {values.begin(), values.end()};
  }

  static int64_t sum(const std::map<int64_t, int64_t>& staleness) {
    int64_t all = 0;
    for (const auto& [stale, updates] : staleness) all += updates;
    return all;
  }
};

TEST_F(Hogwild, OneWorkerIsTheSameAsTrainingAlone) {
  for (const char* precision : {"f32", "auto"}) {  // bf16 where the CPU has it
    for (const char* optimizer : {"momentum", "adam"}) {
      JobRequest job = small_job(fmt::format("one-{}-{}", precision, optimizer), 1);
      job.precision = precision;
      job.optimizer = optimizer;
      job.clip = 1;
      ThreadTeam team(resolved(job));
      team.first().begin();
      Losses losses;
      const Outcome outcome = team.run(losses, never);
      job.exchange = "allreduce";
      job.sync = "join";
      job.run += "-alone";
      Trainer alone(resolved(job));
      alone.begin();
      const Outcome expected = alone.run_alone(losses, never);
      EXPECT_EQ(weights(team.first()), weights(alone)) << job.run;
      EXPECT_EQ(outcome.epochs.back().test_loss, expected.epochs.back().test_loss);
      EXPECT_EQ(outcome.staleness, (std::map<int64_t, int64_t>{{0, 27}}));
    }
  }
}

TEST_F(Hogwild, WorkersTrainTheSameMemory) {
  ThreadTeam team(resolved(small_job("memory", 3)));
  const graph::Parameters& first = team.first().network().parameters();
  for (int worker = 1; worker < 3; ++worker) {
    const graph::Parameters& other = team.worker(worker).network().parameters();
    EXPECT_EQ(other.weights().data(), first.weights().data());
    EXPECT_EQ(other.working().data(), first.working().data());
    EXPECT_NE(other.gradients().data(), first.gradients().data());
  }
}

class Workers : public Hogwild, public testing::WithParamInterface<int> {};

TEST_P(Workers, LearnTogether) {
  JobRequest job = small_job("together", GetParam());
  job.epochs = 40;
  ThreadTeam team(resolved(job));
  team.first().begin();
  Losses losses;
  const Outcome outcome = team.run(losses, never);
  EXPECT_EQ(outcome.end, Outcome::End::complete);
  ASSERT_EQ(losses.train_loss.size(), 40U);
  EXPECT_LT(losses.train_loss.back(), 0.5 * losses.train_loss.front());
  EXPECT_EQ(outcome.epochs.back().workers.size(), static_cast<size_t>(GetParam()));
  EXPECT_EQ(outcome.position.epoch, 40);
  // Each update of each worker is counted.
  EXPECT_EQ(sum(outcome.staleness), losses.steps * GetParam());
}

INSTANTIATE_TEST_SUITE_P(Numbers, Workers, testing::Values(2, 3));

TEST_F(Hogwild, ARunGoesOnWithAnotherNumberOfWorkersAndAlone) {
  JobRequest job = small_job("run", 3);
  Losses losses;
  const auto interrupted_after = [&](int64_t asked_at_most, const std::string& resume) {
    ThreadTeam team(resolved(job));
    if (resume.empty()) {
      team.first().begin();
    } else {
      team.first().resume(resume);
    }
    std::atomic<int64_t> asked{0};
    return team.run(losses, [&] { return ++asked > asked_at_most; });
  };
  const Outcome first = interrupted_after(5, "");
  EXPECT_EQ(first.end, Outcome::End::interrupted);
  EXPECT_LT(first.position.epoch, 2);
  job.workers = 2;
  const Outcome second = interrupted_after(7, job.run);
  EXPECT_EQ(second.end, Outcome::End::interrupted);
  EXPECT_GT(second.position.step, first.position.step);
  job.workers = 1;
  job.exchange = "allreduce";
  job.sync = "join";
  Trainer alone(resolved(job));
  alone.resume(job.run);
  const Outcome last = alone.run_alone(losses, never);
  EXPECT_EQ(last.end, Outcome::End::complete);
  EXPECT_EQ(last.position.epoch, 3);
}

TEST_F(Hogwild, CheckpointsWithinAnEpochAreMadeTogether) {
  JobRequest job = small_job("often", 2);
  job.checkpoint_every = 2;
  ThreadTeam team(resolved(job));
  team.first().begin();
  // Asked once by one worker only; the other learns it when they meet.
  std::atomic<int64_t> asked{0};
  Losses losses;
  const Outcome outcome = team.run(losses, [&] { return ++asked == 3; });
  EXPECT_EQ(outcome.end, Outcome::End::interrupted);
  EXPECT_TRUE(std::filesystem::exists(team.first().directory().last()));
}

/// Worker 0 fails in its third step.
class Failing final : public Losses {
 public:
  void step(const StepProgress& info) override {
    if (info.step == 3) throw RunError("the observer has seen enough");
  }
};

TEST_F(Hogwild, WhenOneFailsAllEndWithItsError) {
  ThreadTeam team(resolved(small_job("fails", 3)));
  team.first().begin();
  Failing observer;
  try {
    team.run(observer, never);
    ADD_FAILURE() << "nobody failed";
  } catch (const RunError& error) {
    EXPECT_THAT(error.what(), HasSubstr("seen enough"));
  }
}

TEST_F(Hogwild, WhatNeedsMessagesOrStepsOfItsOwnIsRefused) {
  const auto refusal = [&](auto change) -> std::string {
    JobRequest job = small_job("refused", 2);
    change(job);
    try {
      resolved(job);
    } catch (const RequestError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(refusal([](JobRequest& job) { job.wire = "bf16"; }), HasSubstr("--wire"));
  EXPECT_THAT(refusal([](JobRequest& job) { job.lookahead = 5; }), HasSubstr("--lookahead"));
  EXPECT_THAT(refusal([](JobRequest& job) { job.sync = "join"; }), HasSubstr("--sync async"));
}

}  // namespace
}  // namespace syrtos::train
