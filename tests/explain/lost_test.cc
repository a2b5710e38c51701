// A worker is lost and the run goes on: whoever reads about it learns that.

#include <gmock/gmock.h>

#include "syrtos/report/explain.h"
#include "syrtos/report/live_data.h"
#include "syrtos/report/run_reader.h"
#include "tests/train/team.h"

namespace syrtos::train {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class Lost : public Distributed {
 protected:
  JobRequest spare_job(const char* sync) const {
    JobRequest job = small_job(sync);
    job.workers = 3;
    job.exchange = "ps";
    job.sync = sync;
    job.samples = 72;
    job.batch = 4;
    job.epochs = 3;
    return job;
  }

  /// Worker 2 is lost in the second epoch. Returns worker 0's step then.
  static int64_t train_and_lose(const JobRequest& job) {
    int64_t lost_at = 0;
    Happenings happenings;
    happenings.lost = 2;
    happenings.stepped = [&](int worker, const StepProgress& info, world::LocalCluster& cluster) {
      if (worker != 0 || info.step < 8 || lost_at > 0) return;
      lost_at = info.step;
      cluster.lose(2);
    };
    train(job, "", happenings);
    return lost_at;
  }
};

TEST_F(Lost, AWorkerIsNamedWithItsStepInTheTextAndOnThePage) {
  for (const char* sync : {"async", "backup:1"}) {
    const JobRequest job = spare_job(sync);
    const int64_t lost_at = train_and_lose(job);
    const report::Run run = report::read_run(job.run);
    ASSERT_EQ(run.lost.size(), 1U) << sync;
    EXPECT_EQ(run.lost[0].rank, 2);
    EXPECT_EQ(run.lost[0].step, lost_at) << "noticed at once";
    const std::string words = fmt::format("was lost at step {}", lost_at);
    EXPECT_THAT(report::explain_text(run, report::explain(run, {.simulate = false}), {}),
                AllOf(HasSubstr("rank 2 on "), HasSubstr(words)));
    const nlohmann::json page = report::LiveData(job.run).get();
    EXPECT_THAT(page.at("banner").at(0).get<std::string>(), HasSubstr(words));
  }
}

TEST_F(Lost, NobodyIsWhenAllCameToTheEnd) {
  const JobRequest job = spare_job("async");
  train(job);
  EXPECT_TRUE(report::read_run(job.run).lost.empty());
}

}  // namespace
}  // namespace syrtos::train
