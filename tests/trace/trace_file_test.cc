#include "syrtos/trace/trace_file.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <limits>
#include <nlohmann/json.hpp>

#include "tests/support/mutator.h"
#include "tests/support/temporary.h"
#include "tests/trace/trace_samples.h"

namespace syrtos::trace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

/// An event in words that do not depend on the numbers of names.
std::string text_of(const Event& event, const RankEvents& rank) {
  const NameTable::Entry& name = rank.names[event.name];
  std::string text = fmt::format("{} {}/{} {}..{} {:x}", static_cast<int>(event.kind),
                                 name.category, name.text, event.start, event.end, event.flow);
  for (int i = 0; i < event.arguments.size(); ++i) {
    const Argument argument = event.arguments[i];
    text += fmt::format(" {}={}", rank.names[argument.key].text,
                        argument.is_text ? rank.names[static_cast<Name>(argument.value)].text
                                         : std::to_string(argument.value));
  }
  return text;
}

std::vector<std::string> texts_of(const RankEvents& rank, size_t track) {
  std::vector<std::string> texts;
  for (const Event& event : rank.tracks.at(track).events) texts.push_back(text_of(event, rank));
  std::sort(texts.begin(), texts.end());
  return texts;
}

/// What Perfetto shows of a file (tests/readers/check_trace).
std::string checked(const std::filesystem::path& file) {
  const std::string command = fmt::format("'{}' '{}' 2>&1", SYRTOS_CHECK_TRACE, file.string());
  FILE* pipe = popen(command.c_str(), "r");
  std::string text;
  std::array<char, 512> buffer{};
  while (fgets(buffer.data(), buffer.size(), pipe) != nullptr) text += buffer.data();
  EXPECT_EQ(pclose(pipe), 0) << text;
  return text;
}

class TraceFiles : public TemporaryDirectory {
 protected:
  std::string lines(const std::vector<RankEvents>& ranks) const {
    write_trace(directory_ / "lines.json", ranks);
    return read(directory_ / "lines.json");
  }
};

TEST_F(TraceFiles, HaveExactlyTheseLines) {
  RankEvents a, b;
  a.host = "a";
  b.rank = 2, b.host = "c";
  b.clock = ClockMap({{0, 500, 40}});
  const Name forward = a.names.intern("forward", "compute"), bytes = a.names.intern("bytes"),
             layer = a.names.intern("layer");
  a.tracks = {{"compute",
               0,
               {{2'001'000, 2'002'005, 0, {{bytes, 7}, {layer, forward}}, forward, Kind::span},
                {2'001'001, 2'001'001, 0, {}, bytes, Kind::instant},
                {2'001'002, 2'001'002, std::bit_cast<uint64_t>(0.25), {}, bytes, Kind::counter},
                {2'001'003, 2'001'103, 0x1f, {}, layer, Kind::sent}}}};
  const Name come = b.names.intern("come");
  b.tracks = {{"network in", 3, {{2'000'600, 2'000'900, 0x1f, {}, come, Kind::received}}}};
  EXPECT_EQ(lines({a, b}),
            R"({"displayTimeUnit":"ms","otherData":{"origin_ns":2001000},
"traceEvents":[
{"ph":"M","name":"process_name","pid":1,"args":{"name":"rank 0 on a","rank":0,"host":"a","clock_error":0}},
{"ph":"M","name":"process_sort_index","pid":1,"args":{"sort_index":0}},
{"ph":"M","name":"thread_name","pid":1,"tid":3,"args":{"name":"compute","dropped":0}},
{"ph":"M","name":"thread_sort_index","pid":1,"tid":3,"args":{"sort_index":3}},
{"ph":"X","name":"forward","cat":"compute","pid":1,"tid":3,"ts":0.000,"dur":1.005,"args":{"bytes":7,"layer":"forward"}},
{"ph":"i","name":"bytes","pid":1,"tid":3,"ts":0.001,"s":"t"},
{"ph":"C","name":"bytes","pid":1,"tid":3,"ts":0.002,"args":{"value":0.25}},
{"ph":"X","name":"layer","pid":1,"tid":3,"ts":0.003,"dur":0.100},
{"ph":"s","name":"message","cat":"message","id":"0x1f","pid":1,"tid":3,"ts":0.003},
{"ph":"M","name":"process_name","pid":2,"args":{"name":"rank 2 on c","rank":2,"host":"c","clock_error":40}},
{"ph":"M","name":"process_sort_index","pid":2,"args":{"sort_index":2}},
{"ph":"M","name":"process_labels","pid":2,"args":{"labels":"3 events did not fit and are missing"}},
{"ph":"M","name":"thread_name","pid":2,"tid":4,"args":{"name":"network in","dropped":3}},
{"ph":"M","name":"thread_sort_index","pid":2,"tid":4,"args":{"sort_index":4}},
{"ph":"X","name":"come","pid":2,"tid":4,"ts":0.100,"dur":0.300},
{"ph":"f","bp":"e","name":"message","cat":"message","id":"0x1f","pid":2,"tid":4,"ts":0.399}
]}
)");
  EXPECT_EQ(checked(directory_ / "lines.json"),
            "2 processes, 2 threads, 3 spans, 1 instants, 1 counters, 1 arrows\n");
}

TEST_F(TraceFiles, ReadBackAreTheSameEventsOnTheReferenceClock) {
  for (const char* name : {"trace.json", "trace.json.gz"}) {
    std::vector<RankEvents> ranks = {sample_events(0, 3, 200), sample_events(1, 4, 200)};
    ranks[1].clock = ClockMap({{0, 1'000'000, 250}});
    write_trace(directory_ / name, ranks);
    checked(directory_ / name);

    const TraceContents contents = read_trace(directory_ / name);
    EXPECT_EQ(contents.problem, "");
    ASSERT_THAT(contents.ranks, SizeIs(2));
    for (TrackEvents& track : ranks[1].tracks) {
      for (Event& event : track.events) event.start += 1'000'000, event.end += 1'000'000;
    }
    for (int r = 0; r < 2; ++r) {
      const RankEvents& found = contents.ranks[r];
      EXPECT_EQ(found.rank, r);
      EXPECT_EQ(found.host, ranks[r].host);
      EXPECT_EQ(found.dropped(), ranks[r].dropped());
      EXPECT_EQ(found.clock.error(), r == 0 ? 0 : 250);
      ASSERT_THAT(found.tracks, SizeIs(2)) << "lanes are one track again";
      for (size_t t = 0; t < 2; ++t) {
        EXPECT_EQ(found.tracks[t].name, ranks[r].tracks[t].name);
        EXPECT_EQ(texts_of(found, t), texts_of(ranks[r], t));
      }
    }
  }
  EXPECT_THAT(read(directory_ / "trace.json.gz"), testing::StartsWith("\x1f\x8b"));
}

TEST_F(TraceFiles, HoldHundredsOfSpansThatOverlap) {
  RankEvents rank;
  rank.tracks = {{"network", 0, {}}};
  for (int64_t i = 0; i < 500; ++i) {
    rank.tracks[0].events.push_back(Event{i, 1000 + i, 0, {}, {}, Kind::span});
  }
  lines({rank});
  checked(directory_ / "lines.json");
}

TEST_F(TraceFiles, PutSpansThatOverlapSideBySide) {
  RankEvents rank;
  const auto span = [](int64_t start, int64_t end) {
    return Event{start, end, 0, {}, {}, Kind::span};
  };
  rank.tracks = {
      {"network", 0, {span(0, 10), span(5, 15), span(6, 9), span(10, 20), span(15, 15)}}};
  const std::string text = lines({rank});
  checked(directory_ / "lines.json");
  std::vector<std::string> placed;
  const auto trace = nlohmann::json::parse(text);
  for (const auto& event : trace["traceEvents"]) {
    if (event["ph"] != "X") continue;
    placed.push_back(
        fmt::format("{:.0f} in {}", event["ts"].get<double>() * 1000, event["tid"].get<int>() - 2));
  }
  EXPECT_THAT(placed, ElementsAre("0 in 0", "5 in 1", "6 in 0", "10 in 0", "15 in 0"));
}

TEST_F(TraceFiles, WithMoreAtOnceThanAnybodyCanSeeAreStillWritten) {
  RankEvents rank;
  rank.tracks = {{"network", 0, {}}};
  for (int64_t i = 0; i < 1000; ++i) {
    rank.tracks[0].events.push_back({i, i + 2000, 0, {}, {}, Kind::span});
  }
  write_trace(directory_ / "t.json", {&rank, 1});
  EXPECT_EQ(read_trace(directory_ / "t.json").ranks.at(0).count(), 1000);
}

TEST_F(TraceFiles, GiveEveryArrowSomethingToHoldOnTo) {
  RankEvents rank;
  rank.tracks = {
      {"network", 0, {{100, 100, 1, {}, {}, Kind::sent}, {100, 100, 1, {}, {}, Kind::received}}}};
  lines({rank});
  EXPECT_THAT(checked(directory_ / "lines.json"), HasSubstr("1 arrows"));
}

TEST_F(TraceFiles, LeaveOutCountersThatAreNoNumbers) {
  RankEvents rank;
  const double values[] = {std::numeric_limits<double>::quiet_NaN(),
                           std::numeric_limits<double>::infinity(), 1e300};
  rank.tracks = {{"t", 0, {}}};
  for (const double value : values) {
    rank.tracks[0].events.push_back({1, 1, std::bit_cast<uint64_t>(value), {}, {}, Kind::counter});
  }
  lines({rank});
  checked(directory_ / "lines.json");
  const TraceContents contents = read_trace(directory_ / "lines.json");
  ASSERT_EQ(contents.ranks.at(0).count(), 1);
  EXPECT_EQ(contents.ranks[0].tracks[0].events[0].number(), 1e300);
}

TEST_F(TraceFiles, WithoutRanksOrEventsAreTraces) {
  write_trace(directory_ / "t.json", {});
  checked(directory_ / "t.json");
  EXPECT_EQ(read_trace(directory_ / "t.json").problem, "");
  const RankEvents rank;
  write_trace(directory_ / "t.json", {&rank, 1});
  EXPECT_EQ(read_trace(directory_ / "t.json").ranks.size(), 1U);
}

TEST_F(TraceFiles, ThatAreCutGiveWhatComesBeforeAndSayWhere) {
  const std::vector<RankEvents> ranks = {sample_events(0)};
  const std::string text = lines(ranks);
  int64_t before = 0;
  for (size_t size = text.find("\"traceEvents\":[") + 15; size < text.size() - 3; size += 41) {
    const auto file = write("cut.json", text.substr(0, size));
    const TraceContents contents = read_trace(file);
    int64_t count = 0;
    for (const RankEvents& rank : contents.ranks) count += rank.count();
    ASSERT_THAT(
        contents.problem,
        HasSubstr(fmt::format("cut.json is damaged at offset {}, after {} events", size, count)));
    ASSERT_GE(count, before);
    before = count;
  }
  EXPECT_GE(before, ranks[0].count() - 1);
}

TEST_F(TraceFiles, ThatAreCompressedAndCutSaySo) {
  const std::vector<RankEvents> ranks = {sample_events(0, 1, 20'000)};
  write_trace(directory_ / "t.json.gz", ranks);
  const std::string bytes = read(directory_ / "t.json.gz");
  const TraceContents contents =
      read_trace(write("cut.json.gz", bytes.substr(0, bytes.size() / 2)));
  EXPECT_THAT(contents.problem, HasSubstr("unexpected end of file"));
  EXPECT_GT(contents.ranks.at(0).count(), 5000);
  EXPECT_LT(contents.ranks[0].count(), 20'000);
}

TEST_F(TraceFiles, OfOthersAreRefused) {
  EXPECT_THAT(refusal([&] { read_trace(directory_ / "none.json"); }),
              HasSubstr("No such file or directory"));
  EXPECT_THAT(refusal([&] { read_trace(directory_); }), HasSubstr("found a directory"));
  EXPECT_THAT(refusal([&] { read_trace(write("a", "")); }), HasSubstr("expected a trace"));
  EXPECT_THAT(refusal([&] { read_trace(write("a", "hello")); }), HasSubstr("expected a trace"));
  EXPECT_THAT(refusal([&] { read_trace(write("a", R"({"x":[{"ph":"X"}]})")); }),
              HasSubstr("found other JSON"));
}

TEST_F(TraceFiles, WithEventsThatMakeNoSenseSayWhatWasExpected) {
  const auto problem = [&](const std::string& events) {
    return read_trace(write("t.json", R"({"traceEvents":[
{"ph":"M","name":"process_name","pid":1,"args":{"rank":0,"host":"a","clock_error":0}},
{"ph":"M","name":"thread_name","pid":1,"tid":2,"args":{"name":"t","dropped":0}},
)" + events + "]}"))
        .problem;
  };
  EXPECT_EQ(
      problem(R"({"ph":"X","name":"x","pid":1,"tid":2,"ts":1,"dur":1,"args":{"deep":[{"a":{}}]}})"),
      "");
  EXPECT_THAT(problem(R"({"ph":"X","name":"x","pid":1,"tid":3,"ts":1,"dur":1})"),
              HasSubstr("named before"));
  EXPECT_THAT(problem(R"({"ph":"X","name":"x","pid":1,"tid":2,"ts":1e300,"dur":1})"),
              HasSubstr("times from 0"));
  EXPECT_THAT(problem(R"({"ph":"Q","name":"x","pid":1,"tid":2,"ts":1})"), HasSubstr("phases"));
  EXPECT_THAT(problem(R"({"ph":"s","id":"0x1","pid":1,"tid":2,"ts":1})"), HasSubstr("arrow after"));
  EXPECT_THAT(problem(R"({"ph":"C","name":"x","pid":1,"tid":2,"ts":1})"), HasSubstr("value"));
  EXPECT_THAT(problem(R"({"ph":"M","name":"process_name","pid":7,"args":{}})"), HasSubstr("rank"));
}

TEST_F(TraceFiles, ThatAreDamagedNeverCrash) {
  const std::string text = lines({sample_events(0, 1, 15)});
  const std::string other = lines({sample_events(1, 2, 15)});
  int damaged = 0;
  for (uint32_t round = 0; round < 600; ++round) {
    const auto file = write("t.json", Mutator(2, round).damage(text, other));
    try {
      damaged += read_trace(file).problem.empty() ? 0 : 1;
    } catch (const RequestError&) {
      ++damaged;
    }
  }
  EXPECT_GT(damaged, 300);
}

TEST_F(TraceFiles, ThatCannotBeWrittenLeaveNothing) {
  EXPECT_THROW(write_trace(directory_ / "no" / "t.json", {}), RunError);
  EXPECT_TRUE(std::filesystem::is_empty(directory_));
}

}  // namespace
}  // namespace syrtos::trace
