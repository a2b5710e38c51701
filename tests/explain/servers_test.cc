// Whether servers hold their workers up is seen in what they measured themselves.

#include <gmock/gmock.h>

#include "syrtos/report/explain.h"
#include "syrtos/report/run_reader.h"
#include "tests/train/simulated.h"

namespace syrtos::train {
namespace {

using report::CauseKind;
using report::Explanation;
using testing::HasSubstr;

class Servers : public Simulated {
 protected:
  static Explanation explanation_of(const JobRequest& job) {
    return report::explain(report::read_run(job.run), {.simulate = false});
  }
};

TEST_F(Servers, ABusyOneIsTheFirstCauseAndAnIdleOneIsNot) {
  SimOptions cluster = world::uniform_cluster(4, 1e10, 10e-6);
  JobRequest job = job_of("ps", "join", 3);
  simulate(job, cluster);
  Explanation explanation = explanation_of(job);
  ASSERT_EQ(explanation.servers.size(), 1U);
  EXPECT_LT(report::busy_share(explanation, explanation.servers[0]), 0.5);

  cluster.hosts[3].bandwidth = 20e6;
  job.run = (directory_ / "slow").string();
  simulate(job, cluster);
  explanation = explanation_of(job);
  ASSERT_EQ(explanation.ranks.size(), 3U);
  ASSERT_EQ(explanation.servers.size(), 1U);
  EXPECT_GT(report::busy_share(explanation, explanation.servers[0]), 0.8);
  ASSERT_FALSE(explanation.causes.empty());
  EXPECT_EQ(explanation.causes[0].kind, CauseKind::server);
  EXPECT_THAT(explanation.causes[0].text, HasSubstr("; server 0 on "));
  const report::Run run = report::read_run(job.run);
  EXPECT_THAT(report::explain_text(run, explanation, {}), HasSubstr("In a step server 0 on "));
  EXPECT_EQ(report::explain_json(run, explanation).at("servers").size(), 1U);
}

TEST_F(Servers, OfAResumedRunGoOnTooAndEachIsShown) {
  JobRequest job = small_job("run");
  job.workers = 2;
  job.exchange = "ps-sharded:2";
  job.samples = 16 * 2 * 6;
  train(job, "", 14);
  train(job, job.run);
  const auto ranks = divisions_of(job);
  ASSERT_EQ(ranks.size(), 4U);
  for (const trace::RankDivision& rank : ranks) {
    ASSERT_EQ(rank.records.size(), 12U) << rank.rank;
    for (size_t i = 0; i < 12; ++i) EXPECT_EQ(rank.records[i].step, static_cast<int64_t>(i) + 1);
  }
  const Explanation explanation = explanation_of(job);
  ASSERT_EQ(explanation.servers.size(), 2U);
  EXPECT_THAT(explanation.servers[1].name, HasSubstr("server 1 on "));
}

}  // namespace
}  // namespace syrtos::train
