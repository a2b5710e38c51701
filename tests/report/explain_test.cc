#include "syrtos/report/explain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "syrtos/base/error.h"
#include "syrtos/job/record.h"
#include "syrtos/report/run_reader.h"
#include "syrtos/trace/recorder.h"
#include "tests/report/made_run.h"

namespace syrtos::report {

using test::made_exchange;
using test::made_operator;
using test::made_operators;
using test::MadeRun;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;
using trace::Part;

namespace {

Explanation explain_made(const MadeRun& made) { return explain(read_run(made.path)); }

const Cause& first_cause(const Explanation& explanation) {
  if (explanation.causes.empty()) throw RunError("no cause was found");
  return explanation.causes.front();
}

TEST(Explain, MeansOfStepsAreThoseThatWereWritten) {
  MadeRun made;
  made.write_all();
  const Explanation explanation = explain_made(made);
  ASSERT_EQ(explanation.ranks.size(), 4u);
  EXPECT_EQ(explanation.ranks[3].name, "rank 3 on d");
  EXPECT_NEAR(explanation.ranks[0].step[Part::backward], 0.060, 1e-6);
  EXPECT_NEAR(explanation.step_s, 0.098, 1e-6);
  EXPECT_NEAR(explanation.images_per_s, 128 / 0.098, 0.1);
  EXPECT_TRUE(explanation.notes.empty()) << explanation.notes.front();
}

TEST(Explain, ASlowLoaderIsTheFirstCause) {
  MadeRun made;
  for (auto& step : made.steps) step[Part::load] = 0.080;
  made.write_all();
  const Explanation explanation = explain_made(made);
  EXPECT_EQ(first_cause(explanation).kind, CauseKind::loader);
  EXPECT_NEAR(first_cause(explanation).seconds, 0.080, 1e-6);
  ASSERT_FALSE(explanation.advice.empty());
  EXPECT_THAT(explanation.advice.front().what, HasSubstr("prepare batches faster"));
  EXPECT_NEAR(explanation.advice.front().speed_up, 0.177 / 0.097, 1e-3);
}

TEST(Explain, TheLoaderOfOneRankThatHoldsTheOthersUpIsNamed) {
  MadeRun made;
  made.steps[2][Part::load] = 0.070;
  made.wait_for_the_slowest();
  made.write_all();
  const Cause cause = first_cause(explain_made(made));
  EXPECT_EQ(cause.kind, CauseKind::loader);
  EXPECT_THAT(cause.text, HasSubstr("rank 2 on c"));
}

TEST(Explain, ASlowRankIsTheFirstCauseAndItsHostIsNamed) {
  MadeRun made;
  made.steps[2][Part::forward] *= 1.4;
  made.steps[2][Part::backward] *= 1.4;
  made.wait_for_the_slowest();
  made.write_all();
  const Explanation explanation = explain_made(made);
  const Cause cause = first_cause(explanation);
  EXPECT_EQ(cause.kind, CauseKind::slow_rank);
  EXPECT_THAT(cause.text, HasSubstr("rank 2 on c computes 38 % slower"));
  EXPECT_NEAR(cause.seconds, 0.036, 1e-6);
}

TEST(Explain, ARankThatSleepsTooLongInsteadOfComputingHasNoSlowCpu) {
  MadeRun made;
  made.steps[2][Part::forward] *= 1.4;
  made.wait_for_the_slowest();
  made.write_all();
  std::ofstream(made.path / "job.toml", std::ios::app) << "replay = \"times.json\"\n";
  const Cause cause = first_cause(explain_made(made));
  EXPECT_EQ(cause.kind, CauseKind::slow_rank);
  EXPECT_THAT(cause.text, HasSubstr("computing is replayed, and its host wakes it late"));
}

TEST(Explain, ANeighbourOnTheSlowHostIsSeenInItsCurves) {
  MadeRun made;
  made.steps[1][Part::backward] *= 1.5;
  made.wait_for_the_slowest();
  made.write_all();
  nlohmann::json hosts;
  for (const std::string& host : made.hosts) {
    const bool slow = host == "b";
    for (int i = 0; i < 5; ++i) {
      hosts[host].push_back({{"time", i * 1'000'000'000LL},
                             {"seconds", 1.0},
                             {"user", 0.9},
                             {"system", 0.05},
                             {"iowait", 0.0},
                             {"idle", 0.05},
                             {"running", slow ? 5.0 : 2.0},
                             {"process_cpu", slow ? 1.2 : 1.9}});
    }
  }
  made.write("hosts.json", hosts.dump());
  EXPECT_THAT(first_cause(explain_made(made)).text, HasSubstr("other programs take its CPUs"));
}

TEST(Explain, ASlowLinkIsTheFirstCause) {
  MadeRun made;
  made.steps[1][Part::network] = 0.090;
  made.wait_for_the_slowest();
  made.write_all();
  const Cause cause = first_cause(explain_made(made));
  EXPECT_EQ(cause.kind, CauseKind::slow_link);
  EXPECT_THAT(cause.text, HasSubstr("rank 1 on b"));
}

/// A ring of four; what comes from rank 2 crosses in `slow` ns, the others' in 8 ms.
std::vector<trace::RankEvents> traced_ring(int64_t slow) {
  std::vector<trace::RankEvents> ranks;
  for (int rank = 0; rank < 4; ++rank) {
    trace::Recorder recorder({.rank = rank, .host = std::string(1, static_cast<char>('a' + rank))});
    trace::Track& sends = *recorder.track("sent");
    trace::Track& receives = *recorder.track("received");
    const trace::Name name = recorder.name("gradient", "message"), bytes = recorder.name("bytes");
    for (int64_t i = 0; i < 10; ++i) {
      const int64_t at = 1'000'000'000 + i * 100'000'000;
      const int from = (rank + 3) % 4, to = (rank + 1) % 4;
      sends.sent(name, at, at + 1'000'000, trace::flow_id(rank, to, static_cast<uint64_t>(i)),
                 {{bytes, 1'000'000}});
      // The receiver is ready long before: that is no crossing.
      receives.received(name, at - 50'000'000, at + (from == 2 ? slow : 8'000'000),
                        trace::flow_id(from, rank, static_cast<uint64_t>(i)), {{bytes, 1'000'000}});
    }
    ranks.push_back(recorder.events());
  }
  return ranks;
}

TEST(Explain, ASlowLinkThatHoldsEverybodyUpIsFoundInTheTrace) {
  MadeRun made;
  for (auto& step : made.steps) step[Part::network] = 0.150;
  made.write_all();
  EXPECT_EQ(first_cause(explain_made(made)).kind, CauseKind::exchange);
  trace::write_trace(made.path / "trace.json.gz", traced_ring(80'000'000));
  const Cause cause = first_cause(explain_made(made));
  EXPECT_EQ(cause.kind, CauseKind::slow_link);
  EXPECT_THAT(cause.text, HasSubstr("from rank 2 to rank 3 bytes move at 100 Mbit/s"));
  EXPECT_THAT(cause.text, HasSubstr("over the other links at 1 Gbit/s"));
}

/// Between equal links: what is asked for late has long arrived, and is there at once.
TEST(Explain, MessagesThatLayAtTheirEndMakeNoSlowLink) {
  MadeRun made;
  for (auto& step : made.steps) step[Part::network] = 0.150;
  made.write_all();
  std::vector<trace::RankEvents> ranks = traced_ring(80'000'000);
  trace::write_trace(made.path / "trace.json.gz", ranks);
  EXPECT_EQ(first_cause(explain_made(made)).kind, CauseKind::slow_link);
  ranks = traced_ring(8'000'000);
  for (trace::TrackEvents& track : ranks[0].tracks) {
    for (trace::Event& event : track.events) {
      if (event.kind == trace::Kind::received) event.start = event.end - 1000;
    }
  }
  trace::write_trace(made.path / "trace.json.gz", ranks);
  EXPECT_EQ(first_cause(explain_made(made)).kind, CauseKind::exchange);
}

TEST(Explain, WhomAServerServesLastHasNoSlowLink) {
  MadeRun made;
  made.exchange = "ps";
  for (auto& step : made.steps) step[Part::network] = 0.100;
  made.steps[2][Part::network] = 0.220;
  made.wait_for_the_slowest();
  made.write_all();
  trace::write_trace(made.path / "trace.json.gz", traced_ring(80'000'000));
  EXPECT_EQ(first_cause(explain_made(made)).kind, CauseKind::server);
}

TEST(Explain, ASlowOperatorIsTheFirstCause) {
  MadeRun made(1);
  made.write_all();
  made.write(
      "operators.json",
      made_operators({made_operator("conv1", "conv", "forward", 0.010, 0.7e9),
                      made_operator("conv3", "conv.backward_weights", "backward", 0.050, 0.2e9)}));
  const Cause cause = first_cause(explain_made(made));
  EXPECT_EQ(cause.kind, CauseKind::operation);
  EXPECT_THAT(cause.text, HasSubstr("conv.backward_weights of conv3"));
  EXPECT_THAT(cause.text, HasSubstr("4 %"));
}

TEST(Explain, AnExchangeThatCannotBeHiddenNamesItsLargestBucketAndWhatHalfTheBytesGain) {
  MadeRun made;
  for (auto& step : made.steps) step[Part::network] = 0.600;
  made.write_all();
  made.write("exchange.json", made_exchange(4, 0.600));
  const Explanation explanation = explain_made(made);
  const Cause cause = first_cause(explanation);
  EXPECT_EQ(cause.kind, CauseKind::exchange);
  EXPECT_THAT(cause.text, HasSubstr("fc6 (151 MB) takes most"));
  bool bf16 = false;
  for (const Advice& advice : explanation.advice) {
    if (advice.options.find("--workers 1") != std::string::npos) continue;
    EXPECT_EQ(advice.certainty, Certainty::simulated);
    if (advice.options.find("bf16") == std::string::npos) continue;
    bf16 = true;
    EXPECT_GT(advice.speed_up, 1.4);
    EXPECT_LT(advice.speed_up, 2.1);
  }
  EXPECT_TRUE(bf16);
}

TEST(Explain, ManySmallMessagesAreLatency) {
  MadeRun made;
  for (auto& step : made.steps) step[Part::network] = 0.030;
  made.write_all();
  made.write("exchange.json", made_exchange(4, 0.030, 200'000, 200'000 * 2e3));
  EXPECT_EQ(first_cause(explain_made(made)).kind, CauseKind::latency);
}

TEST(Explain, WaitingForOneServerIsItsFault) {
  MadeRun made;
  made.exchange = "ps";
  for (auto& step : made.steps) {
    step[Part::network] = 0.010;
    step[Part::wait] = 0.100;
  }
  made.write_all();
  const Cause cause = first_cause(explain_made(made));
  EXPECT_EQ(cause.kind, CauseKind::server);
  EXPECT_NEAR(cause.seconds, 0.110, 1e-6);
}

TEST(Explain, KnowsTheUpdatesOfTheLastPartOfARun) {
  MadeRun made;
  made.exchange = "ps";
  made.write_all();
  EXPECT_TRUE(read_run(made.path).job.strategy.updates_at_servers());
  made.update = "worker";
  made.write_job();
  EXPECT_FALSE(read_run(made.path).job.strategy.updates_at_servers());
  made.write("parts.json", R"({"parts": [{"first_step": 1, "last_step": 100, "workers": 4,
                               "exchange": "ps", "sync": "join", "wire": "f32",
                               "update": "server", "begun": 1, "ended": 2, "lost": []}]})");
  EXPECT_TRUE(read_run(made.path).job.strategy.updates_at_servers());
}

TEST(ReadRun, KnowsThePartsOfItsNetworkFromTheJobAlone) {
  MadeRun made;
  job::JobRequest request;
  request.network = "alexnet";
  request.workers = 4;
  request.accumulate = 4;
  request.split = "layers:2";
  request.exchange = "allreduce:ring";
  made.write("job.toml", job::to_record(request));
  made.write_steps();  // the run was killed before it had an epoch
  const report::Run run = read_run(made.path);
  EXPECT_TRUE(run.job.in_parts());
  EXPECT_EQ(run.job.replicas(), 2);
  EXPECT_EQ(to_string(run.job.strategy.exchange), "allreduce:ring");
  EXPECT_THAT(run.notes, Not(Contains(HasSubstr("job.toml"))));
}

TEST(Explain, AnExchangeThatNobodyKnowsIsNotedAndNotSimulated) {
  MadeRun made;
  made.exchange = "carrier-pigeons";
  for (auto& step : made.steps) step[Part::network] = 0.600;
  made.write_all();
  made.write("exchange.json", made_exchange(4, 0.600));
  const Explanation explanation = explain_made(made);
  EXPECT_THAT(explanation.notes, Contains(HasSubstr("carrier-pigeons")));
  for (const Advice& advice : explanation.advice) EXPECT_NE(advice.certainty, Certainty::simulated);
}

TEST(Explain, AWellRunningTrainingHasNoCauseAboveItsShare) {
  MadeRun made;
  made.write_all();
  for (const Cause& cause : explain_made(made).causes) EXPECT_LT(cause.share, 0.03);
}

TEST(Explain, TheTextFitsOnOneScreenAndNeedsNoColours) {
  MadeRun made;
  made.steps[2][Part::forward] *= 1.4;
  made.wait_for_the_slowest();
  made.write_all();
  const report::Run run = read_run(made.path);
  const std::string text = explain_text(run, explain(run), {.columns = 90});
  EXPECT_LT(std::count(text.begin(), text.end(), '\n'), 40);
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
  EXPECT_THAT(text, HasSubstr("rank 2 on c"));
  EXPECT_THAT(text, HasSubstr("FFFF"));
  EXPECT_THAT(explain_text(run, explain(run), {.columns = 90, .colour = true}),
              HasSubstr("\x1b[48"));
}

TEST(Explain, SaysWhatMeasuringCostAndHowWellClocksAgree) {
  MadeRun made;
  made.write_all();
  made.write("exchange.json", "{\"workers\": 4}");
  EXPECT_EQ(explain_made(made).certainty, "");
  made.write("exchange.json", made_exchange(4, 0.030));
  EXPECT_EQ(explain_made(made).certainty,
            "Measuring took 0.42 % of the time; the ranks' clocks agree within 10 us.");
}

TEST(Explain, OperatorsAreGroupedAndSharesAddUp) {
  MadeRun made(1);
  made.write_all();
  made.write("operators.json", made_operators({made_operator("a", "conv", "forward", 0.03, 1e9),
                                               made_operator("a", "conv", "backward", 0.05, 1e9),
                                               made_operator("b", "pool", "forward", 0.02, 1e6)}));
  const report::Run run = read_run(made.path);
  const auto layers = operator_rows(*run.operators, GroupBy::layer);
  ASSERT_EQ(layers.size(), 2u);
  EXPECT_EQ(layers[0].name, "a");
  EXPECT_NEAR(layers[0].seconds, 0.08, 1e-9);
  EXPECT_NEAR(layers[0].share, 0.8, 1e-9);
  EXPECT_NEAR(layers[0].gflops, 25, 1e-6);
  EXPECT_NEAR(*layers[0].of_roofline, 0.25, 1e-9);
  EXPECT_EQ(operator_rows(*run.operators, GroupBy::phase).front().name, "backward");
  EXPECT_THROW(parse_group_by("colour"), RequestError);
}

TEST(Explain, NothingIsCloserToTheRooflineThanAllOfIt) {
  MadeRun made(1);
  made.write_all();
  made.write("operators.json",
             made_operators({made_operator("a", "tanh", "forward", 0.001, 1e12)}));
  const report::Run run = read_run(made.path);
  const auto layers = operator_rows(*run.operators, GroupBy::layer);
  EXPECT_GT(layers.at(0).gflops, 900);
  EXPECT_EQ(layers[0].of_roofline, 1.0) << "small tensors lie in caches";
}

TEST(RunReader, RefusesWhatIsNoRun) {
  MadeRun made;
  EXPECT_THROW(read_run(made.path), RequestError);
  EXPECT_THROW(read_run(made.path / "nothing"), RequestError);
}

TEST(RunReader, ACutTableIsUsedUpToTheCut) {
  MadeRun made(1);
  made.write_all();
  std::filesystem::resize_file(made.path / "steps.csv",
                               std::filesystem::file_size(made.path / "steps.csv") - 10);
  const report::Run run = read_run(made.path);
  EXPECT_EQ(run.ranks.at(0).records.size(), 99u);
  EXPECT_THAT(run.notes, Contains(HasSubstr("line 101 is cut off")));
}

/// live.json of two ranks: records of steps that take `seconds` in each part.
std::string made_live(const std::vector<std::array<int64_t, 2>>& steps, double seconds) {
  nlohmann::json ranks = nlohmann::json::array();
  for (int rank = 0; rank < 2; ++rank) {
    nlohmann::json records = {{1, "damaged"}};
    for (const auto& [first, count] : steps) {
      nlohmann::json record = {first, count};
      for (size_t part = 0; part <= trace::kParts; ++part) {
        record.push_back((first == 1 ? 9 : seconds) * static_cast<double>(count));
      }
      records.push_back(record);
    }
    ranks.push_back({{"rank", rank}, {"host", "h"}, {"records", records}});
  }
  return nlohmann::json({{"ranks", ranks}}).dump();
}

TEST(RunReader, BeforeTheFirstEpochHasEndedItKnowsWhatIsLive) {
  MadeRun made(2);
  made.write_job();
  made.write("live.json", made_live({{1, 1}, {2, 40}, {42, 30}}, 0.01));
  const report::Run run = read_run(made.path);
  ASSERT_EQ(run.ranks.size(), 2u);
  EXPECT_EQ(run.ranks[1].name(), "rank 1 on h");
  EXPECT_EQ(run.ranks[1].records.size(), 3u);
  // The first step is not like the others; evaluating and saving are no part of a step.
  EXPECT_NEAR(explain(run).step_s, 0.01 * (trace::kParts - 2), 1e-6);
}

TEST(RunReader, WhatIsLiveFollowsTheTable) {
  MadeRun made(2);
  made.write_all();
  made.write("live.json", made_live({{1, 1}, {2, 40}}, 0.01));
  EXPECT_EQ(read_run(made.path).ranks.at(0).records.size(), 100u) << "the table is newer";
  made.write("live.json", made_live({{1, 1}, {2, 98}, {100, 50}, {150, 50}}, 0.01));
  const report::Run run = read_run(made.path);
  ASSERT_EQ(run.ranks.at(1).records.size(), 102u);
  EXPECT_EQ(run.ranks[1].records[100].step, 100);
}

TEST(RunReader, ACurveIsReadUpToItsCut) {
  MadeRun made;
  made.write_all();
  made.write("curve.csv",
             "step,time,loss,accuracy,images_per_s\n10,1.5,2.25,0.1,1000\nrubbish\n"
             "20,2.5,1.25,0.5,1200\n30,3.5,1.0");
  const report::Run run = read_run(made.path);
  ASSERT_EQ(run.points.size(), 2u);
  EXPECT_EQ(run.points[1].step, 20);
  EXPECT_EQ(run.points[1].loss, 1.25);
  EXPECT_EQ(run.points[1].images_per_s, 1200);
}

TEST(RunReader, ATableOfAnotherVersionLeavesTheMetrics) {
  MadeRun made;
  made.write_all();
  made.write("steps.csv", "rank,step,colour\n0,1,red\n");
  const report::Run run = read_run(made.path);
  EXPECT_EQ(run.ranks.size(), 4u);
  EXPECT_TRUE(run.ranks[0].per_epoch);
  EXPECT_THAT(run.notes, Contains(HasSubstr("not those of this version")));
}

TEST(RunReader, WhatIsDamagedIsNotedAndTheRestIsRead) {
  MadeRun made;
  made.write_all();
  made.write("hosts.json", "{\"a\": [");
  made.write("operators.json", "[]");
  made.write("exchange.json", "{\"workers\": 4}");
  made.write("trace.json.gz", "this is no trace");
  made.write("metrics.jsonl", "{\"epoch\": 1, \"step\": 5}\n{\"epo");
  const report::Run run = read_run(made.path);
  EXPECT_EQ(run.ranks.size(), 4u);
  EXPECT_EQ(run.epochs.size(), 1u);
  for (const char* name :
       {"hosts.json", "operators.json", "exchange.json", "trace.json.gz", "metrics.jsonl"}) {
    EXPECT_THAT(run.notes, Contains(HasSubstr(name)));
  }
}

TEST(RunReader, NewsWithImpossibleNumbersAreLeftOut) {
  MadeRun made;
  made.write_all();
  const size_t records = read_run(made.path).ranks.at(0).records.size();
  for (const char* step : {"9223372036854775750", "1e300", "-1", "\"x\""}) {
    nlohmann::json record = nlohmann::json::array({nlohmann::json::parse(step), 1});
    for (size_t i = 0; i < trace::kParts + 1; ++i) record.push_back(0.01);
    const nlohmann::json rank = {{"rank", 0}, {"host", "a"}, {"records", {record}}};
    made.write("live.json", nlohmann::json({{"ranks", {rank}}}).dump());
    EXPECT_EQ(read_run(made.path).ranks.at(0).records.size(), records) << step;
  }
  made.write("live.json", R"({"ranks": [{"rank": 1e300, "records": [[1]]}, {"rank": -1}, 7]})");
  EXPECT_EQ(read_run(made.path).ranks.at(0).records.size(), records);
}

TEST(RunReader, ARankThatSaysNothingIsNoted) {
  MadeRun made;
  made.write_all();
  made.steps.pop_back();
  made.write_steps();
  const Explanation explanation = explain_made(made);
  EXPECT_EQ(explanation.ranks.size(), 3u);
  EXPECT_THAT(explanation.notes, Contains(HasSubstr("1 of 4 ranks say nothing (rank 3)")));
}

TEST(RunReader, AJobAloneIsARunWithoutSteps) {
  MadeRun made;
  made.write_job();
  const Explanation explanation = explain_made(made);
  EXPECT_TRUE(explanation.ranks.empty());
  EXPECT_THAT(explanation.notes, Contains(HasSubstr("no step has been recorded")));
}

}  // namespace

}  // namespace syrtos::report
