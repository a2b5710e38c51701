#include "syrtos/train/measure/board.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "tests/support/event_records.h"
#include "tests/train/team.h"

namespace syrtos::train {
namespace {

using testing::Contains;
using testing::ElementsAreArray;
using testing::Pair;

const std::vector<std::string> kEpochTags = {
    "loss/train",         "accuracy/train",   "speed/samples per second",
    "seconds/load",       "seconds/forward",  "seconds/backward",
    "seconds/update",     "seconds/network",  "seconds/wait",
    "seconds/bubble",     "seconds/evaluate", "seconds/checkpoint",
    "seconds/other",      "loss/test",        "accuracy/test",
    "accuracy/test top 5"};
const std::vector<std::string> kParts = {"load", "forward", "backward", "update",     "network",
                                         "wait", "bubble",  "evaluate", "checkpoint", "other"};

/// What a run's file of events says: tag -> values in the order of steps.
std::map<std::string, std::vector<float>> scalars_of(const std::filesystem::path& run) {
  std::map<std::string, std::vector<float>> found;
  for (const auto& entry : std::filesystem::directory_iterator(run)) {
    if (!entry.path().filename().string().starts_with("events.out.tfevents.")) continue;
    std::ostringstream bytes;
    bytes << std::ifstream(entry.path(), std::ios::binary).rdbuf();
    for (const std::string& event : event_records::events(bytes.str())) {
      for (const auto& [tag, value] : event_records::scalars(event)) found[tag].push_back(value);
    }
  }
  return found;
}

std::set<std::string> expected_tags(const std::set<int>& ranks) {
  std::set<std::string> tags = {"step/loss", "step/learning rate"};
  tags.insert(kEpochTags.begin(), kEpochTags.end());
  for (const int rank : ranks) {
    for (const std::string& part : kParts) tags.insert(fmt::format("rank {}/{}", rank, part));
  }
  return tags;
}

std::set<std::string> keys_of(const std::map<std::string, std::vector<float>>& scalars) {
  std::set<std::string> keys;
  for (const auto& [key, values] : scalars) keys.insert(key);
  return keys;
}

class Boards : public Distributed {};

TEST_F(Boards, NameTheWorkersInTheirTags) {
  run::EpochMetrics metrics;
  metrics.step = 7;
  metrics.train = {{&run::metric("accuracy"), 0.5}};
  metrics.test = {{&run::metric("accuracy"), 0.4}, {&run::metric("top5"), 0.9}};
  // Ranks of one to four digits: tags that fit into a short string and tags that do not.
  for (const int rank : {0, 12, 345, 4095}) {
    metrics.workers.push_back({.rank = rank, .host = "h", .seconds = {{0.5 + rank}}});
  }
  Notebook notebook;
  Board board(notebook, directory_, graph::Graph(), 0);
  board.step(7, 1, 0.1);
  board.epoch(metrics);
  notebook.drain();
  const auto scalars = scalars_of(directory_);
  EXPECT_THAT(keys_of(scalars), ElementsAreArray(expected_tags({0, 12, 345, 4095})));
  EXPECT_THAT(scalars, Contains(Pair("rank 345/load", testing::ElementsAre(345.5F))));
}

TEST_F(Boards, OfRunsWithTwoWorkersSayTheSameAsTheirMetrics) {
  JobRequest job = small_job("run");
  job.workers = 2;
  const Result result = train(job);
  const auto scalars = scalars_of(job.run);
  EXPECT_THAT(keys_of(scalars), ElementsAreArray(expected_tags({0, 1})));
  ASSERT_EQ(result.epochs.size(), 2U);
  for (size_t epoch = 0; epoch < 2; ++epoch) {
    for (const run::WorkerEpoch& worker : result.epochs[epoch].workers) {
      const auto tag = fmt::format("rank {}/forward", worker.rank);
      EXPECT_EQ(scalars.at(tag).at(epoch),
                static_cast<float>(worker.seconds[trace::Part::forward]));
    }
  }
}

TEST_F(Boards, OfRunsWithOneWorkerSpeakOfNoRanks) {
  const JobRequest job = small_job("run");
  train(job);
  EXPECT_THAT(keys_of(scalars_of(job.run)), ElementsAreArray(expected_tags({})));
}

}  // namespace
}  // namespace syrtos::train
