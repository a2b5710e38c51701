// Workers that do not wait for each other: what they count, how they stop and go on.

#include <gmock/gmock.h>

#include "syrtos/base/error.h"
#include "tests/train/team.h"

namespace syrtos::train {
namespace {

using testing::HasSubstr;

class FreeWorkers : public Distributed {
 protected:
  JobRequest free_job(const std::string& run, int64_t workers, const std::string& sync) const {
    JobRequest job = small_job(run);
    job.workers = workers;
    job.exchange = "ps";
    job.sync = sync;
    job.samples = 72;
    job.batch = 4;
    return job;
  }

  /// Weights hardly change, so that what is measured does not depend on who came first.
  static void freeze(JobRequest& job) { job.learning_rate = 1e-12; }

  /// Each worker stops when it is asked for the n-th time.
  static Happenings each_stops_at(int64_t n) {
    auto asked = std::make_shared<std::map<int, int64_t>>();
    Happenings happenings;
    happenings.stop = [asked, n](int worker) { return ++(*asked)[worker] >= n; };
    return happenings;
  }

  /// Worker 1 stops before its n-th step; worker 0 goes on to the end of its epoch.
  static Happenings second_stops_before(int64_t n) {
    auto asked = std::make_shared<int64_t>(0);
    Happenings happenings;
    happenings.stop = [asked, n](int worker) { return worker == 1 && ++*asked >= n; };
    return happenings;
  }
};

TEST_F(FreeWorkers, ALostOneNoLongerCounts) {
  for (const char* sync : {"async", "ssp:1", "backup:1"}) {
    JobRequest job = free_job(fmt::format("lost-{}", sync), 3, sync);
    job.epochs = 3;
    Happenings happenings;
    happenings.lost = 2;
    bool lost = false;  // whoever is late with backup leaves steps out, also the eighth
    happenings.stepped = [&](int worker, const StepProgress& info, world::LocalCluster& cluster) {
      if (worker != 0 || info.step < 8 || lost) return;
      lost = true;
      cluster.lose(2);
    };
    const Result result = train(job, "", happenings);
    ASSERT_EQ(result.epochs.size(), 3U) << sync;
    EXPECT_EQ(result.epochs[2].workers.size(), 2U) << sync;
    EXPECT_LE(result.epochs[0].samples, 72) << sync;
    if (job.sync == "backup:1") {
      EXPECT_LE(result.epochs[2].samples, 48);  // whoever is late leaves steps out
      continue;
    }
    EXPECT_EQ(result.epochs[0].samples, 72) << sync;
    EXPECT_EQ(result.epochs[2].samples, 48) << sync;
  }
}

TEST_F(FreeWorkers, GoOnWithinAnEpochWithTheSumsOfAll) {
  for (const char* sync : {"async", "ssp:1"}) {
    JobRequest job = free_job(fmt::format("whole-{}", sync), 2, sync);
    job.epochs = 1;
    freeze(job);
    const Result whole = train(job);
    job.run = (directory_ / fmt::format("parts-{}", sync)).string();
    const Result first = train(job, "", each_stops_at(4));
    EXPECT_EQ(first.outcome.end, Outcome::End::interrupted) << sync;
    EXPECT_EQ(first.outcome.position.step, 3) << sync;
    EXPECT_EQ(first.outcome.position.samples, 24) << sync;
    const Result second = train(job, job.run);
    ASSERT_EQ(second.epochs.size(), 1U) << sync;
    EXPECT_NEAR(second.epochs[0].train_loss, whole.epochs[0].train_loss, 1e-5) << sync;
    EXPECT_EQ(second.epochs[0].train, whole.epochs[0].train) << sync;
    EXPECT_EQ(second.epochs[0].samples, 72 - 24) << sync << ", in this process";
  }
}

TEST_F(FreeWorkers, CheckpointsWithinAnEpochDoNotChangeItsSums) {
  JobRequest job = free_job("never", 2, "async");
  job.epochs = 1;
  freeze(job);
  const Result never = train(job);
  job.run = (directory_ / "often").string();
  job.checkpoint_every = 2;
  const Result often = train(job);
  EXPECT_NEAR(often.epochs[0].train_loss, never.epochs[0].train_loss, 1e-5);
  EXPECT_EQ(often.epochs[0].train, never.epochs[0].train);
  EXPECT_EQ(often.epochs[0].samples, never.epochs[0].samples);
}

TEST_F(FreeWorkers, AnEpochThatOnlyTheFirstHasUsedIsEvaluatedWhenTheRunGoesOn) {
  // At the end of the run, of its first epoch, and of steps that end within an epoch.
  for (const auto& [last, steps] : {std::pair{18, 0}, {9, 0}, {13, 13}}) {
    JobRequest job = free_job(fmt::format("last-{}-{}", last, steps), 2, "async");
    job.steps = steps;
    const Result first = train(job, "", second_stops_before(last));
    EXPECT_EQ(first.outcome.end, Outcome::End::interrupted);
    EXPECT_EQ(first.outcome.position.step, last);
    const Result second = train(job, job.run);
    EXPECT_EQ(second.outcome.end, Outcome::End::complete);
    EXPECT_EQ(first.epochs.size() + second.epochs.size(), 2U);
    EXPECT_EQ(second.epochs[0].step, last);
    EXPECT_GT(second.epochs[0].test_loss, 0);
    EXPECT_GT(second.epochs[0].train_loss, 0);
    EXPECT_EQ(second.outcome.position.step, steps > 0 ? steps : 18);
    EXPECT_THROW(train(job, job.run), RequestError) << "now it is complete";
  }
}

TEST_F(FreeWorkers, CountUpdatesOnWhenTheRunGoesOn) {
  for (const char* exchange : {"ps", "ps-sharded:2"}) {
    JobRequest job = free_job(fmt::format("updates-{}", exchange), 2, "async");
    job.exchange = exchange;
    job.optimizer = "adam";
    job.learning_rate = 0.001;
    job.epochs = 1;
    EXPECT_EQ(train(job).outcome.position.updates, 18);
    job.epochs = 2;
    EXPECT_EQ(train(job, job.run).outcome.position.updates, 36);
    // Together with others: what the optimiser keeps has seen more than the run has steps.
    job.epochs = 3;
    job.sync = "join";
    job.exchange = "allreduce";
    const Outcome last = train(job, job.run).outcome;
    EXPECT_EQ(last.position.step, 27);
    EXPECT_EQ(last.position.updates, 45);
  }
}

TEST_F(FreeWorkers, ThoseWithoutSamplesMakeNoUpdate) {
  JobRequest job = free_job("few", 2, "async");
  job.samples = 9;  // 4 and 4, then none and 1
  job.epochs = 1;
  const Result result = train(job);
  EXPECT_EQ(result.outcome.position.step, 2);
  EXPECT_EQ(result.outcome.position.updates, 3);
  EXPECT_EQ(result.epochs[0].samples, 9);
}

TEST_F(FreeWorkers, NobodyWaitsForOneThatStops) {
  for (const char* sync : {"ssp:0", "ssp:2", "backup:1"}) {
    const JobRequest job = free_job(fmt::format("stops-{}", sync), 3, sync);
    Happenings happenings;
    int64_t asked = 0;
    happenings.stop = [&](int worker) { return worker == 0 && ++asked > 2; };
    const Result result = train(job, "", happenings);
    EXPECT_EQ(result.outcome.end, Outcome::End::interrupted) << sync;
  }
}

TEST_F(FreeWorkers, GradientsThatCameTooLateAreReported) {
  JobRequest job = free_job("late", 3, "backup:2");
  const Result result = train(job);
  EXPECT_GT(result.outcome.dropped, 0);
  for (const EpochMetrics& epoch : result.epochs) {
    EXPECT_GT(epoch.samples, 0);
    EXPECT_LT(epoch.samples, 72) << "what was dropped was not trained";
  }
}

TEST_F(Distributed, SynchronisedBatchNormNeedsSamplesForAllWhereARunGoesOn) {
  JobRequest job = small_job("norm");
  job.samples = 53;
  job.batch = 4;
  job.batch_norm = "synchronised";
  EXPECT_EQ(train(job, "", 1).outcome.position.used, 4);
  job.workers = 3;  // 53 leave 5 for the last step, but 49 leave 1
  try {
    train(job, job.run);
    ADD_FAILURE() << "it trained";
  } catch (const RequestError& error) {
    EXPECT_THAT(error.what(), HasSubstr("--batch-norm synchronised"));
    EXPECT_THAT(error.what(), HasSubstr("1 sample for 3 workers"));
  }
}

}  // namespace
}  // namespace syrtos::train
