#include <gmock/gmock.h>

#include "syrtos/job/file.h"
#include "syrtos/ops/cpu/backend.h"
#include "tests/train/team.h"

namespace syrtos::train {
namespace {

using testing::HasSubstr;

struct Way {
  int workers;
  const char* exchange;
  const char* sync;
};

void PrintTo(const Way& tested, std::ostream* out) {
  *out << tested.workers << " " << tested.exchange << " " << tested.sync;
}

class Split : public Distributed, public testing::WithParamInterface<Way> {};

TEST_P(Split, IsTheSameAsTrainingAlone) {
  const Result alone = train(small_job("alone"));
  JobRequest job = small_job("together");
  job.workers = GetParam().workers;
  job.exchange = GetParam().exchange;
  job.sync = "split";
  const Result together = train(job);
  EXPECT_LT(difference(alone.weights, together.weights), 2e-6);
  ASSERT_EQ(alone.epochs.size(), together.epochs.size());
  for (size_t i = 0; i < alone.epochs.size(); ++i) {
    EXPECT_NEAR(alone.epochs[i].train_loss, together.epochs[i].train_loss, 1e-5);
    EXPECT_EQ(alone.epochs[i].train, together.epochs[i].train);
    EXPECT_NEAR(alone.epochs[i].test_loss, together.epochs[i].test_loss, 1e-5);
    EXPECT_EQ(alone.epochs[i].test, together.epochs[i].test);
    EXPECT_EQ(together.epochs[i].workers.size(), static_cast<size_t>(job.workers));
  }
}

INSTANTIATE_TEST_SUITE_P(Exchanges, Split,
                         testing::Values(Way{2, "allreduce:ring", ""}, Way{3, "allreduce", ""},
                                         Way{4, "allreduce:tree", ""}, Way{3, "ps", ""},
                                         Way{2, "ps-sharded:2", ""}, Way{3, "ps-colocated", ""}));

TEST_F(Distributed, JoinIsTheSameAsOneBatchOfAllSamples) {
  JobRequest whole = small_job("whole");
  whole.batch = 30;
  JobRequest job = small_job("join");
  job.batch = 10;
  job.workers = 3;
  EXPECT_LT(difference(train(whole).weights, train(job).weights), 2e-6);
}

TEST_F(Distributed, SplitWithBatchNormIsTheSameAsAloneWhenStatisticsAreSynchronised) {
  const auto job_of = [&](const char* run, int64_t workers, const char* batch_norm) {
    JobRequest job = small_job(run);
    job.network = "resnet18";
    job.input = "3x32x32";
    job.samples = 22;
    job.batch = 9;
    job.epochs = 1;
    job.workers = workers;
    job.sync = "split";
    job.batch_norm = batch_norm;
    job.learning_rate = 1e-4;  // larger ones let rounding grow fast in so small batches
    return job;
  };
  const Result alone = train(job_of("alone", 1, "local"));
  const Result same = train(job_of("synchronised", 2, "synchronised"));
  const Result other = train(job_of("local", 2, "local"));
  EXPECT_NEAR(alone.epochs[0].train_loss, same.epochs[0].train_loss, 1e-4);
  EXPECT_LT(1000 * difference(alone.weights, same.weights),
            difference(alone.weights, other.weights));
}

TEST_F(Distributed, EveryModeTrainsAndAllWorkersEndWithTheSameWeights) {
  int n = 0;
  for (const Way& way :
       {Way{3, "ps", "async"}, Way{2, "ps-colocated", "async"}, Way{3, "ps-sharded:2", "ssp:1"},
        Way{3, "ps", "backup:1"}, Way{3, "allreduce", "local:2"}}) {
    JobRequest job = small_job("mode" + std::to_string(n++));
    job.workers = way.workers;
    job.exchange = way.exchange;
    job.sync = way.sync;
    job.batch = 5;
    job.epochs = 3;
    const Result result = train(job);
    EXPECT_EQ(result.epochs.size(), 3U) << way.sync;
    EXPECT_LT(result.epochs.back().train_loss, 2.5) << way.sync;
  }
}

TEST_F(Distributed, ARunGoesOnWithAnotherNumberOfWorkersAndAnotherExchange) {
  const Result undisturbed = train(small_job("undisturbed"));
  JobRequest job = small_job("run");
  job.workers = 4;
  job.sync = "split";
  job.exchange = "ps";
  EXPECT_EQ(train(job, "", 12).outcome.end, Outcome::End::interrupted);
  for (const auto& [workers, exchange] : {std::pair{3, "allreduce"}, std::pair{1, "allreduce"}}) {
    job.workers = workers;
    job.exchange = exchange;
    const Result result = train(job, job.run, workers == 1 ? 0 : 6);
    if (workers > 1) {
      EXPECT_EQ(result.outcome.end, Outcome::End::interrupted);
      continue;
    }
    EXPECT_EQ(result.outcome.end, Outcome::End::complete);
    EXPECT_LT(difference(undisturbed.weights, result.weights), 2e-6);
    EXPECT_EQ(result.outcome.position.step, undisturbed.outcome.position.step);
  }
}

TEST_F(Distributed, WorkersThatDifferAreNamed) {
  JobRequest job = small_job("differ");
  job.workers = 2;
  JobRequest other = job;
  other.seed = 7;  // other random data, too
  Trainer first(resolve(job, cpu_info(), "nowhere"), 0);
  Trainer second(resolve(other, cpu_info(), "nowhere"), 1);
  first.begin();
  Silent silent;
  Outcome outcome;
  world::LocalCluster cluster(2);
  try {
    world::run_all(cluster, [&](World& world) -> Task<> {
      Trainer& mine = world.rank() == 0 ? first : second;
      return keep_result(mine.run(world, silent, [] { return false; }), outcome);
    });
    ADD_FAILURE() << "they trained";
  } catch (const RequestError& error) {
    EXPECT_THAT(error.what(), HasSubstr("rank 1"));
    EXPECT_THAT(error.what(), HasSubstr("job seed"));
    EXPECT_THAT(error.what(), HasSubstr("training data"));
    EXPECT_THAT(error.what(), testing::Not(HasSubstr("job batch")));
  }
}

/// The CPU's, and of which batch it made the first kernel.
class RecordingBackend final : public ops::Backend {
 public:
  std::string name() const override { return inner_->name(); }
  ops::KernelPlan plan(const ops::KernelRequest& request) override {
    if (first_batch == 0) first_batch = request.inputs[0].shape[0];
    return inner_->plan(request);
  }
  ops::KernelPlan reorder(const TensorType& from_type, const ops::Layout& from,
                          const TensorType& to_type, const ops::Layout& to) override {
    return inner_->reorder(from_type, from, to_type, to);
  }

  int64_t first_batch = 0;

 private:
  std::shared_ptr<ops::Backend> inner_ = ops::cpu::make_backend();
};

/// Who is compiled first decides how parameters lie, and some CPUs' kernels want them otherwise for
/// eight samples than for nine.
TEST_F(Distributed, WorkersWithUnequalSharesLetTheSameOneDecideLayouts) {
  JobRequest job = small_job("shares");
  job.workers = 5;
  job.sync = "split";
  for (int worker = 0; worker < 5; ++worker) {  // 16 samples: 3 or 4 each
    auto backend = std::make_shared<RecordingBackend>();
    const Trainer trainer(resolve(job, cpu_info(), "nowhere"), worker, {.backend = backend});
    EXPECT_EQ(backend->first_batch, 4) << worker;
  }
}

TEST_F(Distributed, WhatMakesNoSenseIsRefused) {
  const auto refused = [&](const char* exchange, const char* sync, int64_t workers,
                           const char* update, const std::string& why) {
    JobRequest job = small_job("refused");
    job.exchange = exchange;
    job.sync = sync;
    job.workers = workers;
    job.update = update;
    try {
      resolve(job, cpu_info(), "nowhere");
      ADD_FAILURE() << exchange << " " << sync;
    } catch (const RequestError& error) {
      EXPECT_THAT(error.what(), HasSubstr(why));
    }
  };
  refused("allreduce", "async", 2, "auto", "use --exchange ps");
  refused("ps", "backup:2", 2, "auto", "at most 1 can be left out");
  refused("ps", "local:4", 2, "auto", "allreduce");
  refused("ps", "async", 2, "worker", "use --update server");
  refused("allreduce", "join", 2, "server", "has no servers");
  refused("allreduce", "split", 17, "auto", "use at most 16");
  refused("allreduce", "join", 5, "auto", "use at most 4 workers");
  refused("alreduce", "join", 2, "auto", "did you mean 'allreduce'");
  refused("allreduce", "spp:1", 2, "auto", "unknown");
  refused("allreduce", "local:0", 2, "auto", "at least 1");
  refused("ps-sharded:x", "join", 2, "auto", "ps-sharded:2");
  refused("shared", "join", 2, "auto", "--sync async");
  refused("allreduce:rign", "join", 2, "auto", "--exchange: unknown all-reduce 'rign'");
}

}  // namespace
}  // namespace syrtos::train
