// Whoever trains through the library gets a run that can be watched and explained.

#include <gmock/gmock.h>

#include <set>

#include "syrtos/report/live_data.h"
#include "syrtos/report/run_reader.h"
#include "syrtos/run/files.h"
#include "tests/train/team.h"

namespace syrtos::train {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

class LibraryRuns : public Distributed {
 protected:
  static run::Progress progress_of(const JobRequest& job) {
    return report::read_run(job.run).progress.value();
  }

  /// Names in the directory; those of TensorBoard's files without what differs.
  static std::vector<std::string> names_of(const JobRequest& job) {
    const std::string events = run::name_of(run::File::events);
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(job.run)) {
      const std::string name = entry.path().filename().string();
      names.push_back(name.starts_with(events) ? events : name);
    }
    return names;
  }
};

TEST_F(LibraryRuns, HaveEveryFileOfARunAndNoOther) {
  // While it is watched, while it trains, of a network that came in a file or as layers.
  const std::set<run::File> of_some_runs = {run::File::live, run::File::owner, run::File::network,
                                            run::File::layers};
  for (const int64_t workers : {1, 2}) {
    JobRequest job = small_job(std::to_string(workers));
    job.workers = workers;
    job.sample_seconds = 0.01;
    job.trace = "all";
    train(job);
    std::vector<std::string> expected;
    for (const run::FileInfo& info : run::all_files()) {
      if (!of_some_runs.contains(info.file)) expected.emplace_back(info.name);
    }
    EXPECT_THAT(names_of(job), testing::UnorderedElementsAreArray(expected));
  }
}

TEST_F(LibraryRuns, AreShownWithoutANote) {
  JobRequest job = small_job("run");
  job.workers = 2;
  train(job);
  const report::Run run = report::read_run(job.run);
  EXPECT_THAT(run.notes, IsEmpty());
  EXPECT_TRUE(run.complete());
  EXPECT_FALSE(run.points.empty());
  const run::Progress progress = progress_of(job);
  EXPECT_EQ(progress.step, progress.steps);
  const nlohmann::json page = report::LiveData(job.run).get();
  EXPECT_FALSE(page.at("running").get<bool>());
  EXPECT_THAT(page.at("log").get<std::vector<std::string>>(), Contains(HasSubstr("epoch 2/2")));
}

TEST_F(LibraryRuns, SayHowTheyEnded) {
  JobRequest job = small_job("interrupted");
  train(job, "", 4);
  EXPECT_EQ(progress_of(job).state, run::State::interrupted);
  train(job, job.run);
  EXPECT_EQ(progress_of(job).state, run::State::complete);

  job = small_job("early");
  job.epochs = 50;
  job.patience = 1;
  job.learning_rate = 1e-30;  // nothing gets better
  ASSERT_EQ(train(job).outcome.end, Outcome::End::stopped_early);
  EXPECT_EQ(progress_of(job).state, run::State::stopped_early);

  job = small_job("failed");
  job.network = "mlp";
  job.optimizer = "momentum";
  job.learning_rate = 1000;
  job.weight_decay = 100;
  EXPECT_THROW(train(job), RunError);
  EXPECT_EQ(progress_of(job).state, run::State::failed);
  EXPECT_THAT(progress_of(job).message, HasSubstr("try a smaller --lr"));
}

}  // namespace
}  // namespace syrtos::train
