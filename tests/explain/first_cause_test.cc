// Something is really slow in a training: what is read from the run's directory afterwards names it
// first. Nothing here depends on how fast the machine is: what is slow takes several times as long
// as the rest, or time is simulated.

#include <gmock/gmock.h>

#include <algorithm>
#include <array>

#include "syrtos/report/explain.h"
#include "syrtos/report/run_reader.h"
#include "tests/train/simulated.h"
#include "tests/train/slow.h"

namespace syrtos::train {
namespace {

using report::Cause;
using report::CauseKind;
using testing::HasSubstr;

/// Of those that a run's steps make: how long such short runs take to start, to evaluate and to
/// save, and whether they get a CPU all the time, is a matter of what else runs here. So what
/// threads waited for CPUs is forgotten: where they waited, no kernel is blamed.
Cause first_cause(const JobRequest& job) {
  report::Run run = report::read_run(job.run);
  for (run::RankTraffic& rank : run.exchange->ranks) rank.ready_s = 0;
  const report::Explanation explanation = report::explain(run, {.simulate = false});
  for (const Cause& cause : explanation.causes) {
    constexpr std::array kOfOthers = {CauseKind::start, CauseKind::pause, CauseKind::cpus,
                                      CauseKind::evaluation, CauseKind::checkpoint};
    if (std::find(kOfOthers.begin(), kOfOthers.end(), cause.kind) == kOfOthers.end()) return cause;
  }
  throw RunError("no cause was found");
}

class FirstCause : public Distributed {
 protected:
  static Job resolved(const JobRequest& job) { return resolve(job, cpu_info(), "nowhere"); }
};

TEST_F(FirstCause, IsTheOperatorThatIsSlow) {
  const JobRequest job = small_job("run");
  const TrainerOptions slow{.machine = measure_machine(),
                            .backend = std::make_shared<SlowBackend>("conv.backward_data")};
  Trainer trainer(resolved(job), 0, slow);
  trainer.begin();
  Silent silent;
  trainer.run_alone(silent, [] { return false; });
  const Cause cause = first_cause(job);
  EXPECT_EQ(cause.kind, CauseKind::operation) << cause.text;
  EXPECT_THAT(cause.text, HasSubstr("conv.backward_data of conv2 (backward, "));
  EXPECT_GT(cause.share, 0.2);
}

TEST_F(FirstCause, IsTheRankThatComputesSlowly) {
  JobRequest job = small_job("run");
  job.workers = 2;
  const Job both = resolved(job);
  const TrainerOptions slow{.backend = std::make_shared<SlowBackend>("conv.backward_data")};
  train_over_tcp({both, both}, {{}, slow});
  const Cause cause = first_cause(job);
  EXPECT_EQ(cause.kind, CauseKind::slow_rank) << cause.text;
  EXPECT_THAT(cause.text, HasSubstr("rank 1 on "));
}

TEST_F(FirstCause, IsTheLoaderThatIsSlowAndItsRankIsNamed) {
  JobRequest job = small_job("run");
  job.workers = 2;
  job.prefetch = 0;
  const Job fast = resolved(job);
  Job slow = fast;
  slow.data.train = std::make_shared<SlowData>(fast.data.train, std::chrono::milliseconds(5));
  train_over_tcp({fast, slow});
  const Cause cause = first_cause(job);
  EXPECT_EQ(cause.kind, CauseKind::loader) << cause.text;
  EXPECT_THAT(cause.text, HasSubstr("most of all rank 1 on "));
}

class SimulatedFirstCause : public Simulated {};

TEST_F(SimulatedFirstCause, IsTheLinkThatIsSlow) {
  const JobRequest job = job_of("ps", "join", 3);
  SimOptions cluster = fast_cluster(4);
  cluster.hosts[2].bandwidth = 20e6;
  simulate(job, cluster);
  const Cause cause = first_cause(job);
  EXPECT_EQ(cause.kind, CauseKind::slow_link) << cause.text;
  EXPECT_THAT(cause.text, HasSubstr("rank 2 on "));
}

TEST_F(SimulatedFirstCause, IsTheHostThatIsSlow) {
  for (const char* exchange : {"allreduce", "ps"}) {
    JobRequest job = job_of(exchange, "join", 3);
    job.run = (directory_ / exchange).string();
    SimOptions cluster = fast_cluster(4);
    cluster.hosts[1].speed = 0.25;
    if (job.exchange == "allreduce") cluster.hosts.pop_back();
    simulate(job, cluster);
    const Cause cause = first_cause(job);
    EXPECT_EQ(cause.kind, CauseKind::slow_rank) << cause.text;
    EXPECT_THAT(cause.text, HasSubstr("rank 1 on "));
  }
}

}  // namespace
}  // namespace syrtos::train
