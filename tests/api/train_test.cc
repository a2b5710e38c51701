// What other programs call: training in one process, planning, explaining, evaluating.

#include "syrtos/api/train.h"

#include <gmock/gmock.h>

#include "syrtos/api/explain.h"
#include "syrtos/api/plan.h"
#include "syrtos/api/predict.h"
#include "syrtos/base/error.h"
#include "syrtos/nn/described.h"
#include "tests/support/temporary.h"

namespace syrtos::api {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

class Api : public TemporaryDirectory {
 protected:
  TrainRequest small(const std::string& run) {
    TrainRequest request;
    request.job = {.network = "lenet5",
                   .data = "random",
                   .samples = 64,
                   .batch = 16,
                   .epochs = 2,
                   .precision = "f32",
                   .threads = 1};
    request.job.run = (directory_ / run).string();
    return request;
  }
};

TEST_F(Api, WorkersInOneProcessSplitABatchAsOneWorkerTakesIt) {
  const Trained alone = train(small("alone"));
  for (const char* exchange : {"allreduce", "ps", "ps-colocated"}) {
    TrainRequest request = small(exchange);
    request.job.workers = 2;
    request.job.exchange = exchange;
    request.job.sync = "split";
    const Trained together = train(request);
    ASSERT_EQ(together.outcome.epochs.size(), alone.outcome.epochs.size());
    EXPECT_EQ(together.outcome.position.step, alone.outcome.position.step) << exchange;
    EXPECT_NEAR(together.outcome.epochs.back().train_loss, alone.outcome.epochs.back().train_loss,
                1e-4)
        << exchange;
  }
}

TEST_F(Api, ARunKeepsItsNetworkOfLayers) {
  TrainRequest request = small("own");
  request.own.network = nn::described_network(R"({"name": "tiny", "layers": [
      {"op": "flatten", "name": "rows", "of": ["input"]},
      {"op": "linear", "name": "fc", "of": ["rows"]}]})");
  request.job.input = "1x8x8";
  request.job.epochs = 1;
  const Trained trained = train(request);
  TrainRequest further = small("own");
  further.job.network = "tiny";
  further.job.input = "1x8x8";
  further.resume = trained.run;
  EXPECT_EQ(train(further).outcome.epochs.size(), 1);  // the second
  EXPECT_GT(evaluate({.checkpoint = trained.run}, {}).samples, 0);
}

TEST_F(Api, ARunGoesOnWhereItWas) {
  TrainRequest first = small("run");
  first.job.epochs = 1;
  const Trained half = train(first);
  TrainRequest second = small("run");
  second.resume = half.run;
  const Trained whole = train(second);
  const Trained at_once = train(small("at once"));
  EXPECT_EQ(whole.outcome.position.step, at_once.outcome.position.step);
  EXPECT_EQ(whole.outcome.epochs.back().train_loss, at_once.outcome.epochs.back().train_loss);
}

TEST_F(Api, ARunDoesNotGoOnAsAnother) {
  const Trained trained = train(small("run"));
  TrainRequest other = small("run");
  other.resume = trained.run;
  other.job.epochs = 3;
  other.job.learning_rate = 0.5;
  EXPECT_THAT([&] { train(other); },
              ThrowsMessage<RequestError>(HasSubstr("--lr cannot change when a run goes on")));
  other.job.learning_rate = small("run").job.learning_rate;
  EXPECT_GT(train(other).outcome.position.step, trained.outcome.position.step);
}

TEST_F(Api, TrainedNetworksAreEvaluatedAndExplained) {
  const Trained trained = train(small("run"));
  const train::Evaluation measured =
      evaluate({.checkpoint = trained.run / "last.ckpt", .precision = "f32", .threads = 1});
  EXPECT_EQ(measured.samples, 8);
  EXPECT_DOUBLE_EQ(measured.value("accuracy"),
                   trained.outcome.epochs.back().test_value("accuracy"));
  const Explained why = explain(trained.run);
  EXPECT_THAT(why.explanation.title, HasSubstr("lenet5 on random"));
  EXPECT_GT(why.explanation.step_s, 0);
}

TEST_F(Api, AWayThatWasPlannedIsTakenWithAllThatBelongsToIt) {
  TrainRequest request = small("run");
  planner::Prediction way;
  way.candidate.workers = 3;
  way.candidate.options.exchange = strategy::parse_exchange("ps-sharded:2");
  way.candidate.options.sync = strategy::parse_sync("ssp:4");
  way.candidate.options.wire = strategy::parse_wire("bf16");
  way.candidate.options.update = strategy::UpdateAt::worker;
  way.candidate.options.permits = 2;
  way.candidate.options.bucket_mb = 1.5;
  way.step.seconds = 0.125;
  request = with_way(std::move(request), way);
  EXPECT_EQ(request.job.workers, 3);
  EXPECT_EQ(request.job.exchange, "ps-sharded:2");
  EXPECT_EQ(request.job.sync, "ssp:4");
  EXPECT_EQ(request.job.wire, "bf16");
  EXPECT_EQ(request.job.update, "worker");
  EXPECT_EQ(request.job.permits, 2);
  EXPECT_EQ(request.job.bucket_mb, 1.5);
  EXPECT_EQ(request.planned_step_s, 0.125);
}

TEST_F(Api, PlansForACluster) {
  PlanRequest request;
  request.job = small("none").job;
  request.job.samples = 4096;
  request.seconds = 0.05;
  request.cluster = planner::cluster_of("4 hosts, 10 Gbit/s, 30 us");
  request.space.syncs = {strategy::parse_sync("join")};
  const Planned planned = plan(request, {});
  EXPECT_EQ(planned.workload.samples, 4096);
  EXPECT_EQ(planned.workload.batch, 16);
  EXPECT_GE(planned.plan.ranked.size(), 2U);
  EXPECT_GT(planned.plan.alone.step.seconds, 0);
}

TEST_F(Api, WrongRequestsAreRefusedBeforeAnythingIsWritten) {
  TrainRequest request = small("run");
  request.job.optimizer = "adm";
  EXPECT_THAT([&] { train(request); }, ThrowsMessage<RequestError>(HasSubstr("adam")));
  EXPECT_FALSE(std::filesystem::exists(request.job.run));
}

}  // namespace
}  // namespace syrtos::api
