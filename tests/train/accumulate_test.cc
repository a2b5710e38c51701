#include <gmock/gmock.h>

#include "syrtos/strategy/compute_times.h"
#include "tests/train/simulated.h"

namespace syrtos::train {
namespace {

using testing::HasSubstr;

struct Way {
  int workers;
  const char* exchange;
  const char* sync;
  int64_t accumulate;
};

void PrintTo(const Way& tested, std::ostream* out) {
  *out << tested.workers << " " << tested.exchange << " " << tested.sync << " "
       << tested.accumulate;
}

class Accumulate : public Distributed, public testing::WithParamInterface<Way> {
 protected:
  /// 70 samples in batches of 24: the last step of an epoch has 22, which no number of
  /// micro-batches divides.
  JobRequest job_of(const std::string& run) const {
    JobRequest job = small_job(run);
    job.batch = 24;
    return job;
  }
};

TEST_P(Accumulate, IsTheSameAsTheWholeBatch) {
  JobRequest whole = job_of("whole");
  JobRequest parts = job_of("parts");
  parts.accumulate = GetParam().accumulate;
  for (JobRequest* job : {&whole, &parts}) {
    job->workers = GetParam().workers;
    job->exchange = GetParam().exchange;
    job->sync = GetParam().sync;
  }
  const Result expected = train(whole);
  const Result found = train(parts);
  EXPECT_LT(difference(expected.weights, found.weights), 2e-6);
  ASSERT_EQ(expected.epochs.size(), found.epochs.size());
  for (size_t i = 0; i < expected.epochs.size(); ++i) {
    EXPECT_NEAR(expected.epochs[i].train_loss, found.epochs[i].train_loss, 1e-5);
    EXPECT_EQ(expected.epochs[i].train, found.epochs[i].train);
    EXPECT_EQ(expected.epochs[i].samples, found.epochs[i].samples);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Ways, Accumulate,
    testing::Values(Way{1, "allreduce", "join", 2}, Way{1, "allreduce", "join", 4},
                    Way{1, "allreduce", "join", 24}, Way{2, "allreduce", "split", 3},
                    Way{3, "allreduce", "split", 4}, Way{2, "allreduce", "join", 8},
                    Way{2, "ps", "split", 4}, Way{2, "ps-colocated", "split", 2},
                    Way{2, "allreduce", "local:2", 4}));

TEST_F(Distributed, MicroBatchesDropOutAndClipAsTheWholeBatchDoes) {
  const auto job_of = [&](const char* run, int64_t parts) {
    JobRequest job = small_job(run);
    job.network = "mnist-cnn";  // has dropout
    job.samples = 24;
    job.batch = 12;
    job.epochs = 1;
    job.clip = 0.5;
    job.accumulate = parts;
    return job;
  };
  EXPECT_LT(difference(train(job_of("whole", 1)).weights, train(job_of("parts", 3)).weights), 2e-6);
}

TEST_F(Distributed, MicroBatchesOfSeveralWorkersShareSynchronisedStatistics) {
  const auto job_of = [&](const char* run, int64_t workers, int64_t batch, int64_t parts) {
    JobRequest job = small_job(run);
    job.network = "resnet18";
    job.input = "3x32x32";
    job.samples = 16;
    job.batch = batch;
    job.epochs = 1;
    job.workers = workers;
    job.sync = "split";
    job.batch_norm = workers > 1 ? "synchronised" : "local";
    job.accumulate = parts;
    job.learning_rate = 1e-4;
    return job;
  };
  // Alone, a micro-batch of 4; together, two of 2 whose statistics are common. The samples of a
  // micro-batch are others, so the losses are only close.
  const Result alone = train(job_of("alone", 1, 8, 2));
  const Result together = train(job_of("together", 2, 8, 2));
  EXPECT_EQ(alone.epochs[0].samples, together.epochs[0].samples);
  EXPECT_NEAR(alone.epochs[0].train_loss, together.epochs[0].train_loss, 0.5);
}

TEST_F(Distributed, MicroBatchesNeedLessMemory) {
  const auto bytes = [&](int64_t parts) {
    JobRequest job = small_job("never");
    job.network = "resnet18";
    job.input = "3x32x32";
    job.batch = 512;
    job.accumulate = parts;
    job.samples = 512;
    Trainer trainer(resolve(job, cpu_info(), "nowhere"));
    return static_cast<double>(trainer.network().training().program().arena_bytes());
  };
  const double whole = bytes(1);
  // Scratch memory of kernels and the smallest values do not shrink.
  EXPECT_LT(bytes(4), 0.35 * whole);
  EXPECT_LT(bytes(16), 0.15 * whole);
}

TEST_F(Distributed, ARunGoesOnWithAnotherNumberOfMicroBatches) {
  const Result undisturbed = train(small_job("undisturbed"));
  JobRequest job = small_job("run");
  job.accumulate = 4;
  EXPECT_EQ(train(job, "", 3).outcome.end, Outcome::End::interrupted);
  job.accumulate = 1;
  const Result result = train(job, job.run);
  EXPECT_EQ(result.outcome.end, Outcome::End::complete);
  EXPECT_LT(difference(undisturbed.weights, result.weights), 2e-6);
}

TEST_F(Distributed, BatchesThatMicroBatchesDoNotDivideAreRefused) {
  const auto error_of = [&](const std::function<void(JobRequest&)>& change) -> std::string {
    JobRequest job = small_job("never");
    change(job);
    job.given.push_back("batch");
    try {
      resolve(job, cpu_info(), "nowhere");
    } catch (const RequestError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(error_of([](JobRequest& job) { job.accumulate = 5; }),
              HasSubstr("--accumulate: expected a batch that 5 micro-batches divide, found 16 "
                        "samples of the batch: use --batch 15"));
  EXPECT_THAT(error_of([](JobRequest& job) {
                job.accumulate = 4;
                job.workers = 3;
                job.sync = "split";
              }),
              HasSubstr("found 5 samples of a worker: use --batch 12 or another multiple of 12"));
  EXPECT_THAT(error_of([](JobRequest& job) { job.accumulate = -1; }), HasSubstr("--accumulate"));
  EXPECT_THAT(error_of([](JobRequest& job) {
                job.network = "resnet18";
                job.input = "3x32x32";
                job.accumulate = 2;
                job.workers = 2;
                job.batch_norm = "synchronised";
              }),
              HasSubstr("--remainder drop or pad"));
}

class AccumulateInVirtualTime : public Simulated {};

TEST_F(AccumulateInVirtualTime, AStepIsSoManyPassesAndOneUpdate) {
  JobRequest job = job_of("allreduce", "join", 1);
  job.batch = 64;
  job.samples = 64 * 6;
  job.accumulate = 4;
  const std::vector<StepDivision> ranks = simulate(job, fast_cluster(1));
  const StepDivision& division = ranks[0];
  EXPECT_NEAR(division[Part::forward], 6 * 4 * kPass / 3, 1e-6);
  EXPECT_NEAR(division[Part::backward], 6 * 4 * kPass * 2 / 3, 1e-6);
  EXPECT_NEAR(division[Part::update], 6 * kUpdate, 1e-6);
}

TEST_F(AccumulateInVirtualTime, APassInPartsIsPredicted) {
  const strategy::ComputeTimes times = strategy::read_compute_times(times_file());
  const auto pass = times.pass_of(64, 4);
  EXPECT_DOUBLE_EQ(pass.seconds, 4 * kPass);
  EXPECT_DOUBLE_EQ(pass.needed[0], 0);
  EXPECT_DOUBLE_EQ(pass.ready[0], 4 * kPass);
}

}  // namespace
}  // namespace syrtos::train
