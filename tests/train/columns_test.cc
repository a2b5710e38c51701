// --split columns: large dense layers divided between workers.

#include <gmock/gmock.h>

#include "syrtos/train/checkpoint/checkpoint.h"
#include "syrtos/train/checkpoint/snapshot.h"
#include "tests/train/team.h"

namespace syrtos::train {
namespace {

using testing::HasSubstr;

class Columns : public Distributed {
 protected:
  JobRequest job_of(const std::string& run, int64_t workers) const {
    JobRequest job = small_job(run);
    job.workers = workers;
    job.sync = "split";
    if (workers > 1) job.split = "columns";
    return job;
  }

  static void expect_same(const Result& a, const Result& b) {
    EXPECT_LT(difference(a.weights, b.weights), 2e-6);
    ASSERT_EQ(a.epochs.size(), b.epochs.size());
    for (size_t i = 0; i < a.epochs.size(); ++i) {
      EXPECT_NEAR(a.epochs[i].train_loss, b.epochs[i].train_loss, 1e-5);
      EXPECT_EQ(a.epochs[i].train, b.epochs[i].train);
      EXPECT_NEAR(a.epochs[i].test_loss, b.epochs[i].test_loss, 1e-5);
      EXPECT_EQ(a.epochs[i].test, b.epochs[i].test);
    }
  }
};

class ColumnsOfWorkers : public Columns, public testing::WithParamInterface<int> {};

// 70 samples in batches of 16: with three workers shares differ, and the last step has 6 samples.
TEST_P(ColumnsOfWorkers, AreTheSameAsTrainingAlone) {
  const Result alone = train(job_of("alone", 1));
  expect_same(alone, train(job_of("together", GetParam())));
}

TEST_P(ColumnsOfWorkers, JoinIsTheSameAsOneBatchOfAllSamples) {
  JobRequest whole = job_of("whole", 1);
  whole.batch = 12 * GetParam();
  JobRequest job = job_of("join", GetParam());
  job.sync = "join";
  job.batch = 12;
  whole.samples = job.samples = 12 * GetParam() * 4;
  expect_same(train(whole), train(job));
}

INSTANTIATE_TEST_SUITE_P(Numbers, ColumnsOfWorkers, testing::Values(2, 3, 4));

TEST_F(Columns, OfLayersWithDropoutAndOfOneWithoutBiasAreTheSame) {
  for (const char* network : {"mnist-cnn", "mlp"}) {
    JobRequest alone = job_of(std::string("alone-") + network, 1);
    JobRequest together = job_of(std::string("together-") + network, 3);
    for (JobRequest* job : {&alone, &together}) {
      job->network = network;
      job->samples = 30;
      job->batch = 15;
      job->epochs = 1;
      job->weight_decay = 1e-3;
    }
    EXPECT_LT(difference(train(alone).weights, train(together).weights), 4e-6) << network;
  }
}

TEST_F(Columns, WithMicroBatchesAreTheSame) {
  JobRequest whole = job_of("whole", 1);
  JobRequest parts = job_of("parts", 2);
  whole.samples = parts.samples = 64;
  parts.accumulate = 4;
  expect_same(train(whole), train(parts));
}

TEST_F(Columns, WithLookaheadAreTheSame) {
  JobRequest whole = job_of("whole", 1);
  JobRequest parts = job_of("parts", 3);
  whole.lookahead = parts.lookahead = 2;
  EXPECT_LT(difference(train(whole).weights, train(parts).weights), 2e-6);
}

TEST_F(Columns, ARunGoesOnWholeAndWithOtherColumns) {
  const Result undisturbed = train(job_of("undisturbed", 1));
  JobRequest job = job_of("run", 3);
  EXPECT_EQ(train(job, "", 9).outcome.end, Outcome::End::interrupted);
  job.workers = 1;
  job.split = "none";
  EXPECT_EQ(train(job, job.run, 2).outcome.end, Outcome::End::interrupted);
  job.workers = 4;
  job.split = "columns";
  const Result result = train(job, job.run);
  EXPECT_EQ(result.outcome.end, Outcome::End::complete);
  expect_same({undisturbed.weights, {}, {}}, {result.weights, {}, {}});
}

TEST_F(Columns, OverTcpAreTheSameAsAlone) {
  const Result alone = train(job_of("alone", 1));
  const Job job = resolve(job_of("tcp", 3), cpu_info(), "nowhere");
  train_over_tcp({3, job});
  CompiledNetwork network(job.network, job.model_options(16), CompiledNetwork::Use::training);
  CheckpointReader checkpoint(directory_ / "tcp" / "last.ckpt");
  load_parameters(checkpoint, network.parameters());
  const std::span<float> found = network.parameters().weights();
  EXPECT_LT(difference(alone.weights, {found.begin(), found.end()}), 2e-6);
}

TEST_F(Columns, WhatTheyCannotBeIsRefused) {
  const auto error_of = [&](const std::function<void(JobRequest&)>& change) -> std::string {
    JobRequest job = job_of("never", 2);
    change(job);
    try {
      const Job resolved = resolve(job, cpu_info(), "nowhere");
      Trainer trainer(resolved, 0);
    } catch (const RequestError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(error_of([](JobRequest&) {}), "");
  EXPECT_THAT(error_of([](JobRequest& job) { job.split = "colums"; }), HasSubstr("'columns'"));
  EXPECT_THAT(error_of([](JobRequest& job) { job.exchange = "ps"; }),
              HasSubstr("use --exchange allreduce with --sync join or split, found ps with split"));
  EXPECT_THAT(error_of([](JobRequest& job) { job.sync = "local:2"; }), HasSubstr("local:2"));
  EXPECT_THAT(error_of([](JobRequest& job) { job.clip = 1; }), HasSubstr("--clip"));
  EXPECT_THAT(error_of([](JobRequest& job) {
                job.network = "resnet18";
                job.input = "3x32x32";
                job.classes = 10;
              }),
              HasSubstr("no dense layer whose gradients are worth dividing"));
  EXPECT_THAT(error_of([](JobRequest& job) {
                job.samples = 65;
                job.batch = 16;
              }),
              HasSubstr("--split columns: the last step of an epoch has 1 sample for 2 workers"));
  EXPECT_THAT(error_of([](JobRequest& job) { job.accumulate = 2; }),
              HasSubstr("--split columns with --accumulate"));
}

}  // namespace
}  // namespace syrtos::train
