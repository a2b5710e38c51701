// Every file of a run: what is written is read again, and what is missing, cut off or hostile
// becomes a note.

#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "syrtos/run/about.h"
#include "syrtos/run/curve.h"
#include "syrtos/run/exchange.h"
#include "syrtos/run/hosts.h"
#include "syrtos/run/live.h"
#include "syrtos/run/log.h"
#include "syrtos/run/metrics.h"
#include "syrtos/run/operators.h"
#include "syrtos/run/parts.h"
#include "syrtos/run/progress.h"
#include "syrtos/run/steps.h"
#include "syrtos/run/trace.h"
#include "tests/run/samples.h"
#include "tests/support/mutator.h"
#include "tests/support/temporary.h"

namespace syrtos::run {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class RunFiles : public TemporaryDirectory {
 protected:
  Directory at() const { return Directory::at(directory_); }
  std::string text_of(File file) const { return read(at().file(file)); }
  void put(File file, const std::string& text) const { write(name_of(file), text); }

  /// Every file, written; and read, with what was noted.
  void write_all() const {
    run::write(at(), sample_about());
    put(File::job, "network = \"mlp\"\n");
    for (const EpochMetrics& epoch : sample_epochs()) append(at(), epoch);
    rewind_curve(at(), 0, metric("accuracy"));
    for (const CurvePoint& point : sample_curve()) append(at(), point);
    append_log(at(), "first");
    replace(at(), sample_progress());
    replace(at(), sample_live());
    run::write(at(), sample_steps());
    run::write(at(), sample_parts());
    run::write(at(), sample_hosts());
    run::write(at(), sample_operators());
    run::write(at(), sample_exchange());
  }
  Notes read_all() const {
    Notes notes;
    read_about(at(), notes);
    read_metrics(at(), notes);
    read_curve(at());
    read_log(at(), 10);
    read_progress(at(), notes);
    read_live(at(), notes);
    read_steps(at(), notes);
    read_parts(at(), notes);
    read_hosts(at(), notes);
    read_operators(at(), notes);
    read_exchange(at(), notes);
    read_trace(at(), notes);
    return notes;
  }

  Notes notes_;
};

TEST_F(RunFiles, AreReadAsTheyWereWritten) {
  write_all();
  EXPECT_EQ(read_about(at(), notes_), sample_about());
  EXPECT_EQ(read_metrics(at(), notes_), sample_epochs());
  EXPECT_EQ(read_curve(at()).points, sample_curve());
  EXPECT_EQ(read_progress(at(), notes_), sample_progress());
  EXPECT_EQ(read_live(at(), notes_), sample_live());
  EXPECT_EQ(read_steps(at(), notes_), sample_steps());
  EXPECT_EQ(read_parts(at(), notes_), sample_parts());
  EXPECT_EQ(read_operators(at(), notes_), sample_operators());
  EXPECT_EQ(read_exchange(at(), notes_), sample_exchange());
  EXPECT_THAT(read_log(at(), 10), ElementsAre("first"));
  EXPECT_THAT(notes_, IsEmpty());
}

TEST_F(RunFiles, HostsAreReadAsTheyWereWrittenWhatIsNotKnownToo) {
  const HostCurves hosts = sample_hosts();
  for (const bool quick : {false, true}) {
    quick ? replace(at(), hosts) : run::write(at(), hosts);
    const HostCurves found = read_hosts(at(), notes_);
    ASSERT_EQ(found.size(), hosts.size());
    for (const auto& [name, samples] : hosts) {
      ASSERT_EQ(found.at(name).size(), samples.size()) << name;
      for (size_t i = 0; i < samples.size(); ++i) {
        EXPECT_EQ(trace::to_json(found.at(name)[i]), trace::to_json(samples[i])) << name << i;
        EXPECT_TRUE(std::isnan(found.at(name)[i].iowait));
      }
    }
  }
  EXPECT_THAT(notes_, IsEmpty());
}

TEST_F(RunFiles, TraceIsReadAsItWasWritten) {
  run::write(at(), sample_trace());
  const std::optional<trace::TraceContents> found = run::read_trace(at(), notes_);
  ASSERT_TRUE(found.has_value());
  ASSERT_EQ(found->ranks.size(), 1U);
  EXPECT_EQ(found->ranks[0].rank, 3);
  EXPECT_EQ(found->ranks[0].host, "d");
  EXPECT_THAT(notes_, IsEmpty());
}

TEST_F(RunFiles, MissingFilesAreEmptyAndOnlyThoseThatMustBeThereAreNoted) {
  EXPECT_FALSE(read_progress(at(), notes_).has_value());
  EXPECT_FALSE(read_operators(at(), notes_).has_value());
  EXPECT_FALSE(read_exchange(at(), notes_).has_value());
  EXPECT_FALSE(read_trace(at(), notes_).has_value());
  EXPECT_THAT(read_live(at(), notes_), IsEmpty());
  EXPECT_THAT(read_steps(at(), notes_), IsEmpty());
  EXPECT_THAT(read_parts(at(), notes_), IsEmpty());
  EXPECT_THAT(read_hosts(at(), notes_), IsEmpty());
  EXPECT_THAT(read_curve(at()).points, IsEmpty());
  EXPECT_THAT(read_log(at(), 5), IsEmpty());
  EXPECT_THAT(notes_, IsEmpty());
  EXPECT_FALSE(read_about(at(), notes_).has_value());
  EXPECT_THAT(read_metrics(at(), notes_), IsEmpty());
  EXPECT_THAT(notes_, ElementsAre(HasSubstr("run.json is missing: the run is of an earlier"),
                                  HasSubstr("metrics.jsonl is missing")));
}

/// However short a file is cut: what it is read as is as good as its beginning.
TEST_F(RunFiles, CutOffAnywhereAreReadUpToThereAndNoted) {
  write_all();
  for (const FileInfo& info : all_files()) {
    if (info.file == File::events || !at().has(info.file)) continue;
    const std::string whole = text_of(info.file);
    for (size_t length = 0; length < whole.size(); length += 1 + whole.size() / 60) {
      put(info.file, whole.substr(0, length));
      const Notes notes = read_all();
      const bool is_object = info.name.ends_with(".json");
      if (is_object && length + 1 < whole.size()) {
        EXPECT_THAT(notes, Contains(HasSubstr(std::string(info.name) + ": "))) << length;
      }
    }
    put(info.file, whole);
  }
  put(File::steps, text_of(File::steps).substr(0, text_of(File::steps).size() - 1));
  put(File::curve, text_of(File::curve).substr(0, text_of(File::curve).size() - 1));
  EXPECT_EQ(read_steps(at(), notes_).back().records.size(), 1U) << "of two";
  EXPECT_EQ(read_curve(at()).points.size(), sample_curve().size() - 1);
  EXPECT_THAT(notes_, ElementsAre(HasSubstr("steps.csv: line 5 is cut off")));
}

TEST_F(RunFiles, DamagedInManyWaysNeverDoMoreThanANote) {
  write_all();
  const std::string other = text_of(File::exchange);
  for (const FileInfo& info : all_files()) {
    if (info.file == File::events || !at().has(info.file)) continue;
    const std::string whole = text_of(info.file);
    for (uint32_t round = 0; round < 40; ++round) {
      Mutator mutator(static_cast<uint32_t>(info.file), round);
      put(info.file, mutator.damage(whole, other));
      EXPECT_NO_THROW(read_all()) << info.name << ", round " << round;
    }
    put(info.file, whole);
  }
}

TEST_F(RunFiles, ValuesThatMakeNoSenseAreLeftOut) {
  put(File::parts, R"({"parts": [{"first_step": 1, "last_step": 4, "workers": 1e300}, 7,
                      {"first_step": 1, "last_step": 4, "workers": 2,
                       "lost": [{"rank": -1}, {"rank": 1e12}, {"rank": 1, "step": 3}]}]})");
  const std::vector<TrainedPart> parts = read_parts(at(), notes_);
  ASSERT_EQ(parts.size(), 1U);
  EXPECT_THAT(parts[0].lost, ElementsAre(LostWorker{1, "", 3}));
  put(File::exchange, R"({"workers": -4, "exchange": 3, "buckets": [{"bytes": -1}], "ranks": 5,
                         "staleness": {"0": 5, "x": 1, "1": "a", "99999999999999999999": 1},
                         "servers": [{"rank": 1e300}, []], "bytes_sent": 1e300, "plan": []})");
  ExchangeProfile expected;
  expected.staleness = {{0, 5}};
  EXPECT_EQ(read_exchange(at(), notes_), expected);
  put(File::live, R"({"ranks": [{"rank": 1e300, "records": [[1]]}, {"rank": -1}, 7,
                      {"rank": 1, "records": [[1, 1], 5, [1,1,-1,0,0,0,0,0,0,0,0,0]]}]})");
  EXPECT_THAT(read_live(at(), notes_), IsEmpty());
  put(File::hosts, R"({"a": [1, {"time": "x"}], "b": 7})");
  EXPECT_THAT(read_hosts(at(), notes_).at("a"), IsEmpty());
  put(File::progress, R"({"state": "dancing", "step": 1e300, "loss": "much"})");
  EXPECT_EQ(read_progress(at(), notes_), Progress{.state = State::unknown});
  put(File::metrics,
      "{\"epoch\": 1, \"seconds\": {\"load\": -1}, \"workers\": [{\"rank\": 1e9}]}\n");
  EXPECT_EQ(read_metrics(at(), notes_),
            std::vector({EpochMetrics{.epoch = 1, .evaluated = false}}));
  EXPECT_THAT(notes_, Contains(HasSubstr("parts.json: 2 of 3 entries make no sense")));
  EXPECT_THAT(notes_, Contains(HasSubstr("exchange.json: 1 of 1 entries make no sense")));
  EXPECT_THAT(notes_, Contains(HasSubstr("hosts.json: no list for b")));
}

TEST_F(RunFiles, NumbersThatAreTooLargeAreNoted) {
  for (const File file : {File::about, File::progress, File::live, File::parts, File::hosts,
                          File::operators, File::exchange}) {
    put(file, "{\"format\": 1e999}");
  }
  put(File::metrics, "{\"epoch\": 1e999}\n");
  const Notes notes = read_all();
  EXPECT_EQ(notes.size(), 9U) << "one for each, and that no epoch has ended";
  EXPECT_THAT(notes, Contains(HasSubstr("exchange.json: it has numbers that are none")));
}

TEST_F(RunFiles, LinesOfARankNeedNotStandTogether) {
  const auto [first, second] = std::pair(sample_steps()[0], sample_steps()[1]);
  run::write(at(), std::vector<trace::RankDivision>{
                       {0, {first.records[0]}}, {1, second.records}, {0, {first.records[1]}}});
  EXPECT_EQ(read_steps(at(), notes_), sample_steps());
}

TEST_F(RunFiles, NumbersThatAreNoneAreWrittenSoThatTheyCanBeReadAgain) {
  Progress progress = sample_progress();
  progress.loss = std::numeric_limits<double>::quiet_NaN();
  progress.images_per_s = std::numeric_limits<double>::infinity();
  progress.message = "bytes \xff\xfe that are no text";
  replace(at(), progress);
  const std::optional<Progress> found = read_progress(at(), notes_);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->loss, 0);
  EXPECT_THAT(found->message, HasSubstr("that are no text"));
  EXPECT_THAT(notes_, IsEmpty());
}

TEST_F(RunFiles, LinesThatCannotBeReadNowStay) {
  EXPECT_FALSE(rewind_metrics(at(), 9)) << "there are none yet";
  EXPECT_EQ(text_of(File::metrics), "");
  // Reading this fails with EIO.
  const std::filesystem::path file = at().file(File::metrics);
  std::filesystem::remove(file);
  std::filesystem::create_symlink("/proc/self/mem", file);
  EXPECT_THROW(rewind_metrics(at(), 9), RunError);
  EXPECT_TRUE(std::filesystem::is_symlink(file)) << "it was replaced";
  std::filesystem::remove(file);
}

TEST_F(RunFiles, LinesBeyondTheCheckpointAreForgotten) {
  write_all();
  EXPECT_TRUE(rewind_metrics(at(), 10)) << "the epoch that ended there was the best";
  EXPECT_EQ(read_metrics(at(), notes_), std::vector({sample_epochs()[0]}));
  EXPECT_FALSE(rewind_metrics(at(), 9));
  EXPECT_THAT(read_metrics(at(), notes_), IsEmpty());
  put(File::curve, text_of(File::curve) + "7,1");
  rewind_curve(at(), 5, metric("accuracy"));
  append(at(), sample_curve()[1]);
  EXPECT_EQ(read_curve(at()).points, sample_curve()) << "half a line is gone too";
}

TEST_F(RunFiles, WhatCannotBeWrittenForWatchersIsLeftOut) {
  const Directory nowhere = Directory::at(directory_ / "nowhere");
  EXPECT_NO_THROW({
    replace(nowhere, sample_progress());
    replace(nowhere, sample_live());
    replace(nowhere, sample_hosts());
    append(nowhere, sample_curve()[0]);
    append_log(nowhere, "line");
    rewind_curve(nowhere, 0, metric("mae"));
    forget_live(nowhere);
    note_failure(nowhere, "why");
  });
  EXPECT_FALSE(std::filesystem::exists(nowhere.path()));
  EXPECT_THROW(run::write(nowhere, sample_exchange()), RunError);
}

TEST_F(RunFiles, FailuresKeepHowFarTheRunWas) {
  replace(at(), sample_progress());
  note_failure(at(), "rank 2 on c was lost");
  const Progress found = read_progress(at(), notes_).value();
  EXPECT_EQ(found.state, State::failed);
  EXPECT_EQ(found.message, "rank 2 on c was lost");
  EXPECT_EQ(found.step, sample_progress().step);
}

TEST_F(RunFiles, LogsAreReadFromTheirEnd) {
  for (int line = 0; line < 5000; ++line) append_log(at(), "line " + std::to_string(line));
  EXPECT_THAT(read_log(at(), 2), ElementsAre("line 4998", "line 4999"));
  const std::vector<std::string> all = read_log(at(), 100'000);
  EXPECT_LT(all.size(), 5000U);
  EXPECT_THAT(all.front(), HasSubstr("line ")) << "whole lines only";
}

}  // namespace
}  // namespace syrtos::run
