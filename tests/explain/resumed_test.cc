// A run that goes on: one account of all its parts.

#include <gmock/gmock.h>

#include "syrtos/report/explain.h"
#include "syrtos/report/run_reader.h"
#include "tests/train/divisions.h"
#include "tests/train/team.h"

namespace syrtos::train {
namespace {

using report::Explanation;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

class Resumed : public Distributed {
 protected:
  JobRequest long_job(int64_t workers) const {
    JobRequest job = small_job("run");
    job.workers = workers;
    job.samples = 16 * 10 * workers;  // ten steps in an epoch
    job.sample_seconds = 0.01;
    return job;
  }
  static Explanation explanation_of(const JobRequest& job) {
    return report::explain(report::read_run(job.run), {.simulate = false});
  }
};

TEST_F(Resumed, StepsOfBothPartsFollowEachOtherWithoutThePause) {
  for (const int64_t workers : {1, 2}) {
    JobRequest job = long_job(workers);
    job.run = (directory_ / std::to_string(workers)).string();
    const Result first = train(job, "", 14 * workers);
    ASSERT_EQ(first.outcome.end, Outcome::End::interrupted);
    const int64_t stopped = first.outcome.position.step;
    const auto before = divisions_of(job);
    const Result second = train(job, job.run);
    ASSERT_EQ(second.outcome.position.step, 20);
    const auto ranks = divisions_of(job);
    ASSERT_EQ(ranks.size(), static_cast<size_t>(workers));
    for (size_t rank = 0; rank < ranks.size(); ++rank) {
      const auto& records = ranks[rank].records;
      ASSERT_EQ(records.size(), 20U);
      ASSERT_EQ(before[rank].records.size(), static_cast<size_t>(stopped));
      EXPECT_TRUE(
          std::equal(before[rank].records.begin(), before[rank].records.end(), records.begin()))
          << "what was recorded is still there";
      for (size_t i = 0; i < records.size(); ++i) {
        EXPECT_EQ(records[i].step, static_cast<int64_t>(i) + 1);
      }
    }
    expect_no_gaps(ranks[0]);
    EXPECT_LT(total_of(ranks[0]).sum(), first.outcome.seconds + second.outcome.seconds);
    const Explanation explanation = explanation_of(job);
    EXPECT_THAT(explanation.state, HasSubstr("complete: 2 epochs, 20 steps"));
    EXPECT_THAT(explanation.path,
                HasSubstr(fmt::format("Resumed after step {}; the pause of ", stopped)));
    // Where other programs have the CPUs, steps may have stood still.
    const auto pauses = static_cast<int64_t>(explanation.pauses.size());
    EXPECT_EQ(explanation.ranks.at(0).steps + pauses, 15)
        << "the first step of each part is left out, and those that end with saving or evaluating";
    EXPECT_THAT(explanation.notes, IsEmpty());
  }
}

TEST_F(Resumed, SumsAreThoseOfBothParts) {
  const JobRequest job = long_job(2);
  train(job, "", 34);  // most of it: then sums without it would be smaller
  const nlohmann::json before = json_of(job, "exchange.json");
  const size_t samples = json_of(job, "hosts.json").begin()->size();
  const int64_t calls = json_of(job, "operators.json").at("items").at(0).at("calls");
  train(job, job.run);
  for (const nlohmann::json& item : json_of(job, "operators.json").at("items")) {
    EXPECT_EQ(item.at("calls"), 20) << item << ", of them before: " << calls;
  }
  const nlohmann::json exchange = json_of(job, "exchange.json");
  EXPECT_GT(exchange.at("bytes_sent").get<int64_t>(), before.at("bytes_sent").get<int64_t>());
  EXPECT_GT(exchange.at("ranks").at(1).at("messages_sent").get<int64_t>(),
            before.at("ranks").at(1).at("messages_sent").get<int64_t>());
  const nlohmann::json hosts = json_of(job, "hosts.json");
  ASSERT_GT(hosts.begin()->size(), samples);
  int64_t last = 0;
  for (const nlohmann::json& sample : *hosts.begin()) {
    EXPECT_GT(sample.at("time").get<int64_t>(), last) << "one clock";
    last = sample.at("time");
  }
}

TEST_F(Resumed, StepsThatAreDoneAgainCountOnce) {
  const JobRequest job = long_job(1);
  train(job, "", 8);
  const auto ckpt = std::filesystem::path(job.run) / "last.ckpt";
  std::filesystem::copy(ckpt, directory_ / "kept");
  train(job, job.run, 5);
  // As a process leaves it that is killed after its measures were written and its position was not.
  std::filesystem::copy(directory_ / "kept", ckpt,
                        std::filesystem::copy_options::overwrite_existing);
  train(job, job.run);
  const auto records = divisions_of(job).at(0).records;
  ASSERT_EQ(records.size(), 20U);
  for (size_t i = 0; i < records.size(); ++i) {
    EXPECT_EQ(records[i].step, static_cast<int64_t>(i) + 1);
  }
  EXPECT_EQ(json_of(job, "parts.json").at("parts").size(), 2U);
}

TEST_F(Resumed, MeansAreThoseOfTheLastTeam) {
  JobRequest job = long_job(1);
  train(job, "", 4);
  job.workers = 2;
  train(job, job.run);
  const Explanation explanation = explanation_of(job);
  EXPECT_THAT(explanation.title, HasSubstr("2 workers"));
  EXPECT_EQ(explanation.ranks.size(), 2U);
  EXPECT_THAT(explanation.notes, Contains(HasSubstr("steps 1 to 4 were trained by 1 worker ")));
}

TEST_F(Resumed, StepsWithoutARecordAreNoted) {
  const JobRequest job = long_job(1);
  train(job, "", 4);
  for (const char* file : {"steps.csv", "parts.json"}) {
    std::filesystem::remove(std::filesystem::path(job.run) / file);
  }
  train(job, job.run);
  EXPECT_THAT(explanation_of(job).notes, Contains(HasSubstr("steps 1 to 4 left no record")));
}

}  // namespace
}  // namespace syrtos::train
