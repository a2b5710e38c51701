// Causes that are made in a run directory must be named first, with their host and size.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "syrtos/base/error.h"
#include "syrtos/job/record.h"
#include "syrtos/report/explain.h"
#include "syrtos/report/run_reader.h"
#include "tests/report/made_run.h"

namespace syrtos::report {

using test::made_exchange;
using test::made_operator;
using test::made_operators;
using test::made_parts;
using test::made_rank;
using test::made_ring;
using test::MadeRun;
using test::with_ranks;
using testing::HasSubstr;
using testing::Not;
using trace::Part;

namespace {

Explanation explain_made(const MadeRun& made) { return explain(read_run(made.path)); }

const Cause& first_cause(const Explanation& explanation) {
  if (explanation.causes.empty()) throw RunError("no cause was found");
  return explanation.causes.front();
}
const Advice& first_advice(const Explanation& explanation) {
  if (explanation.advice.empty()) throw RunError("no advice is given");
  return explanation.advice.front();
}
bool advises(const Explanation& explanation, const std::string& options) {
  for (const Advice& advice : explanation.advice) {
    if (advice.options.find(options) != std::string::npos) return true;
  }
  return false;
}

TEST(Causes, OnePauseIsNamedWithItsHostMomentAndLengthAndLeavesTheMeansAlone) {
  MadeRun made;
  std::vector<trace::StepDivision> paused = made.steps;
  for (auto& step : paused) step[Part::wait] += 8;
  paused[2] = made.steps[2];
  paused[2][Part::backward] += 8;
  made.unusual[40] = paused;
  made.write_all();
  made.write("operators.json",
             made_operators({made_operator("fire2", "squeeze", "backward", 0.04, 3e9)}));
  const Explanation explanation = explain_made(made);
  const Cause& cause = first_cause(explanation);
  EXPECT_EQ(cause.kind, CauseKind::pause);
  EXPECT_TRUE(cause.once);
  EXPECT_NEAR(cause.seconds, 8, 0.01);
  EXPECT_THAT(cause.text, HasSubstr("rank 2 on c stood still for 8"));
  EXPECT_THAT(cause.text, HasSubstr("in step 40, 3.9"));
  EXPECT_NEAR(explanation.step_s, 0.098, 1e-6);
  EXPECT_NEAR(cause.share, 8 / (8 + 100 * 0.098), 0.01);
}

TEST(Causes, AProcessThatStoodStillIsFoundInTheSamplesOfItsHost) {
  MadeRun made;
  std::vector<trace::StepDivision> paused = made.steps;
  for (auto& step : paused) step[Part::network] += 3;
  made.unusual[50] = paused;
  made.write_all();
  nlohmann::json hosts;
  for (const std::string& host : made.hosts) {
    int64_t time = 0;
    for (int i = 0; i < 12; ++i) {
      const double seconds = host == "b" && i == 5 ? 4.0 : 1.0;
      time += static_cast<int64_t>(1e9 * seconds);
      hosts[host].push_back({{"time", time}, {"seconds", seconds}});
    }
  }
  made.write("hosts.json", hosts.dump());
  EXPECT_THAT(first_cause(explain_made(made)).text, HasSubstr("host b stood still for 3"));
}

TEST(Causes, OnePauseStandsOutAmongStepsThatVary) {
  MadeRun made;
  for (int64_t step = 0; step < 100; step += 3) {
    made.unusual[step] = made.steps;
    for (auto& division : made.unusual[step]) division[Part::network] += 0.2;
  }
  made.unusual[41] = made.steps;
  for (auto& division : made.unusual[41]) division[Part::network] += 5;
  made.write_all();
  const Explanation explanation = explain_made(made);
  ASSERT_EQ(explanation.pauses.size(), 1u);
  EXPECT_EQ(explanation.pauses[0].step, 41);
}

TEST(Causes, StepsThatVaryAreNoPauses) {
  MadeRun made;
  for (int64_t step = 0; step < 100; step += 3) {
    made.unusual[step] = made.steps;
    for (auto& division : made.unusual[step]) division[Part::network] += 1;
  }
  made.write_all();
  const Explanation explanation = explain_made(made);
  EXPECT_TRUE(explanation.pauses.empty());
  EXPECT_EQ(first_cause(explanation).kind, CauseKind::exchange);
}

TEST(Causes, ASlowLinkOfARingIsNamedWithoutATrace) {
  MadeRun made;
  for (auto& step : made.steps) step[Part::network] = 0.300;
  made.write_all();
  made.write("exchange.json", with_ranks(made_exchange(4, 0.300), made_ring(4, 2)));
  const Explanation explanation = explain_made(made);
  const Cause& cause = first_cause(explanation);
  EXPECT_EQ(cause.kind, CauseKind::slow_link);
  EXPECT_THAT(cause.text, HasSubstr("host c moves bytes at 200 Mbit/s, the others at 941 Mbit/s"));
  EXPECT_NEAR(cause.seconds, 0.300 * (1 - 25 / 117.6), 0.01);
  EXPECT_THAT(first_advice(explanation).what, HasSubstr("host c"));
  EXPECT_EQ(first_advice(explanation).certainty, Certainty::simulated);
  // Whoever does so must get the hosts that were meant, not the first three.
  EXPECT_TRUE(advises(explanation, "--workers 3 --hosts a,b,d"));
}

TEST(Causes, ASlowLinkThatShowsAsWaitingForServersIsNamed) {
  MadeRun made;
  made.exchange = "ps-colocated";
  for (auto& step : made.steps) step[Part::wait] = 0.300;
  made.write_all();
  made.write("exchange.json", with_ranks(made_exchange(4, 0.300), made_ring(4, 1)));
  EXPECT_THAT(first_cause(explain_made(made)).text, HasSubstr("host b moves bytes at 200 Mbit/s"));
}

TEST(Causes, ASlowLinkOfAFreeWorkerIsNamedFirst) {
  MadeRun made;
  made.exchange = "ps";
  made.sync = "async";
  for (auto& step : made.steps) step[Part::network] = 0.080;
  made.steps[3][Part::network] = 0.400;
  made.write_all();
  made.write("exchange.json", with_ranks(made_exchange(4, 0.080), made_ring(4, 3)));
  EXPECT_THAT(first_cause(explain_made(made)).text, HasSubstr("host d moves bytes"));
}

TEST(Causes, EqualLinksMakeNoSlowOne) {
  MadeRun made;
  for (auto& step : made.steps) step[Part::network] = 0.300;
  made.write_all();
  made.write("exchange.json", with_ranks(made_exchange(4, 0.300), made_ring(4, -1)));
  EXPECT_EQ(first_cause(explain_made(made)).kind, CauseKind::exchange);
}

TEST(Causes, AServerWhoseLinkItsWorkersShareHasNoSlowLink) {
  MadeRun made(5);  // the last one serves
  made.workers = 4;
  made.exchange = "ps";
  for (auto& step : made.steps) step[Part::network] = 0.300;
  made.write_all();
  nlohmann::json exchange = nlohmann::json::parse(made_exchange(4, 0.300));
  exchange["ranks"] = made_ring(4, -1);
  exchange["servers"] = {made_rank(4, 0, 0, 2, "m4")};
  for (int worker = 0; worker < 4; ++worker) {
    const auto shared = [](int to) {
      return nlohmann::json({{"to", to}, {"bytes", 4e9}, {"seconds", 136.0}, {"retransmitted", 0}});
    };
    exchange["ranks"][static_cast<size_t>(worker)]["links"].push_back(shared(4));
    exchange["servers"][0]["links"].push_back(shared(worker));
  }
  made.write("exchange.json", exchange.dump());
  EXPECT_EQ(first_cause(explain_made(made)).kind, CauseKind::server);
}

TEST(Causes, AProgramThatTakesTheCpusOfOneRankIsNamed) {
  MadeRun made;
  made.steps[1][Part::backward] *= 2.5;
  made.wait_for_the_slowest();
  made.write_all();
  nlohmann::json ranks = nlohmann::json::array();
  for (int rank = 0; rank < 4; ++rank) {
    ranks.push_back(made_rank(rank, rank == 1 ? 0.62 : 0.01, 1, 2, fmt::format("m{}", rank)));
  }
  made.write("exchange.json", with_ranks(made_exchange(4, 0), ranks));
  const Cause cause = first_cause(explain_made(made));
  EXPECT_EQ(cause.kind, CauseKind::slow_rank);
  EXPECT_THAT(cause.text, HasSubstr("rank 1 on b computes"));
  EXPECT_THAT(cause.text, HasSubstr("other programs take its CPUs: it gets 0.38 of them"));
  EXPECT_THAT(cause.text, Not(HasSubstr("heat")));
}

TEST(Causes, ProgramsThatTakeTheCpusOfTheOnlyRankAreNamed) {
  MadeRun made(1);
  made.write_all();
  made.write("exchange.json", with_ranks(made_exchange(1, 0),
                                         nlohmann::json::array({made_rank(0, 0.6, 2, 2, "m")})));
  const Explanation explanation = explain_made(made);
  EXPECT_EQ(first_cause(explanation).kind, CauseKind::cpus);
  EXPECT_THAT(first_cause(explanation).text, HasSubstr("other programs take the CPUs of host a"));
  EXPECT_NEAR(first_cause(explanation).seconds, 0.6 * 0.095, 1e-3);
}

TEST(Causes, MoreThreadsThanCoresAreNamedAndAsManyAsThereAreAreAdvised) {
  MadeRun made(1);
  made.more = "threads = 16\n";
  made.write_all();
  made.write("exchange.json", with_ranks(made_exchange(1, 0),
                                         nlohmann::json::array({made_rank(0, 0.87, 16, 2, "m")})));
  made.write("operators.json",
             made_operators({made_operator("conv3", "conv", "backward", 0.05, 0.1e9)}));
  const Explanation explanation = explain_made(made);
  const Cause& cause = first_cause(explanation);
  EXPECT_EQ(cause.kind, CauseKind::cpus);
  EXPECT_THAT(cause.text, HasSubstr("16 threads compute on 2 cores of host a"));
  EXPECT_NEAR(cause.seconds, 0.87 * 0.095, 1e-3);
  EXPECT_EQ(first_advice(explanation).options, "--threads 2");
  EXPECT_EQ(first_advice(explanation).certainty, Certainty::open);
}

TEST(Causes, HostsThatAreOneMachineAreNamed) {
  MadeRun made;
  made.more = "threads = 2\n";
  made.write_all();
  nlohmann::json ranks = nlohmann::json::array();
  for (int rank = 0; rank < 4; ++rank) ranks.push_back(made_rank(rank, 0.7, 2, 2, "same"));
  made.write("exchange.json", with_ranks(made_exchange(4, 0), ranks));
  const Explanation explanation = explain_made(made);
  EXPECT_EQ(first_cause(explanation).kind, CauseKind::cpus);
  EXPECT_THAT(first_cause(explanation).text,
              HasSubstr("hosts a, b, c and d are one machine: 4 ranks compute there with 8 threads "
                        "on 2 cores"));
}

TEST(Causes, ABatchThatIsTooSmallIsNamedAndALargerOneAdvised) {
  MadeRun made(1);
  made.batch = 1;
  made.steps[0] = {};
  made.steps[0][Part::forward] = 0.0004;
  made.steps[0][Part::backward] = 0.0008;
  made.steps[0][Part::update] = 0.0002;
  made.steps[0][Part::other] = 0.0001;
  made.write_all();
  made.write("operators.json",
             made_operators({made_operator("conv1", "conv", "forward", 0.0004, 1e5),
                             made_operator("conv1", "conv", "backward", 0.0008, 2e5)}));
  const Explanation explanation = explain_made(made);
  EXPECT_EQ(first_cause(explanation).kind, CauseKind::small_batch);
  EXPECT_THAT(first_cause(explanation).text, HasSubstr("only 1 sample in a step"));
  EXPECT_EQ(first_advice(explanation).options, "--batch 16");
  EXPECT_EQ(first_advice(explanation).certainty, Certainty::open);
}

TEST(Causes, OneHostAloneIsAdvisedWhereItIsFaster) {
  MadeRun made;
  for (auto& step : made.steps) step[Part::network] = 1.0;
  made.write_all();
  made.write("exchange.json", made_exchange(4, 1.0));
  const Explanation explanation = explain_made(made);
  bool found = false;
  for (const Advice& advice : explanation.advice) {
    if (advice.options.find("--workers 1") == std::string::npos) continue;
    found = true;
    EXPECT_THAT(advice.what, HasSubstr("do not distribute: host a alone trains 333 samples/s"));
    EXPECT_NEAR(advice.speed_up, (32 / 0.096) / (128 / 1.096), 0.01);
  }
  EXPECT_TRUE(found);
}

TEST(Causes, TheTimeBeforeTheFirstStepIsNamedWhereItIsMost) {
  MadeRun made(1);
  made.write_all();
  made.write("parts.json", made_parts(1, 9.8, 30));
  const Explanation explanation = explain_made(made);
  const Cause& cause = first_cause(explanation);
  EXPECT_EQ(cause.kind, CauseKind::start);
  EXPECT_THAT(cause.text, HasSubstr("opening the data 30"));
  EXPECT_NEAR(cause.share, 31.5 / 41.3, 1e-3);
}

TEST(Causes, SharesAreNeverMoreThanAllAndImagesPerSecondCountAllTheTime) {
  MadeRun made(1);
  made.unusual[49] = made.unusual[99] = made.steps;
  for (const int64_t step : {49, 99}) made.unusual[step][0][Part::evaluate] = 60;
  made.write_all();
  made.write("parts.json", made_parts(1, 120 + 9.6));
  const Explanation explanation = explain_made(made);
  double shares = 0;
  for (const Cause& cause : explanation.causes) {
    EXPECT_LE(cause.share, 1);
    shares += cause.share;
  }
  EXPECT_LE(shares, 1.001);
  EXPECT_EQ(first_cause(explanation).kind, CauseKind::evaluation);
  EXPECT_THAT(first_cause(explanation).text, HasSubstr("evaluating takes 91 % of the time"));
  EXPECT_NEAR(explanation.images_per_s, 32 / 0.096, 0.5);
  EXPECT_NEAR(explanation.images_per_s_in_all, 3200 / 132.1, 0.1);
}

TEST(Advice, ThatWouldBeRefusedOrChangeNothingIsNotGiven) {
  MadeRun made;
  made.exchange = "ps-colocated";
  for (auto& step : made.steps) step[Part::wait] = 0.300;
  made.write_all();
  // local steps are for all-reduce alone.
  EXPECT_FALSE(advises(explain_made(made), "local:4"));
  MadeRun free_workers;
  free_workers.exchange = "ps";
  free_workers.sync = "async";
  for (auto& step : free_workers.steps) step[Part::network] = 0.300;
  free_workers.write_all();
  free_workers.write("exchange.json", made_exchange(4, 0.300));
  for (const Advice& advice : explain_made(free_workers).advice) {
    const bool all_reduce = advice.options.find("--exchange allreduce") != std::string::npos;
    EXPECT_TRUE(!all_reduce || advice.options.find("--workers 1") != std::string::npos)
        << advice.options;
  }
}

/// alexnet in two parts whose ranks compute for so long.
Explanation explain_parts(double first_s, double second_s, int64_t micro_batches) {
  MadeRun made(2);
  job::JobRequest request;
  request.network = "alexnet";
  request.input = "3x64x64";
  request.data = "random";
  request.workers = 2;
  request.batch = 32;
  request.accumulate = micro_batches;
  request.split = "classifier.1";
  request.sync = "split";
  made.batch = 32;
  for (auto& step : made.steps) step = {};
  made.steps[0][Part::backward] = first_s;
  made.steps[1][Part::backward] = second_s;
  const double idle = std::max(first_s, second_s) / static_cast<double>(micro_batches);
  for (auto& step : made.steps) {
    step[Part::bubble] = std::max(first_s, second_s) + idle - step[Part::backward];
  }
  made.write_all();
  made.write("job.toml", job::to_record(request));
  nlohmann::json parts = nlohmann::json::parse(made_parts(2, 100 * made.steps[0].sum()));
  parts["parts"][0].update({{"network_parts", 2}, {"split", request.split}, {"sync", "split"}});
  made.write("parts.json", parts.dump());
  return explain_made(made);
}

TEST(Advice, ForAnUnevenPartNamesTheLayersThatAnotherShouldHave) {
  const Explanation explanation = explain_parts(0.9, 0.3, 32);
  EXPECT_EQ(first_cause(explanation).kind, CauseKind::parts);
  EXPECT_THAT(first_cause(explanation).text,
              HasSubstr("part 1 computes 900 ms, all of them 600 ms on average"));
  const Advice& advice = first_advice(explanation);
  EXPECT_THAT(advice.what, HasSubstr("move features.8 ... features.10 to part 2"));
  EXPECT_EQ(advice.options, "--split features.8");
  EXPECT_EQ(advice.certainty, Certainty::reckoned);
  EXPECT_GT(advice.speed_up, 1.05);
  EXPECT_LT(advice.speed_up, 1.5);  // of even parts
}

TEST(Advice, ForPartsThatWaitForTheFirstAndTheLastIsMoreMicroBatches) {
  const Explanation explanation = explain_parts(0.5, 0.5, 2);
  EXPECT_EQ(first_cause(explanation).kind, CauseKind::parts);
  EXPECT_THAT(first_cause(explanation).text, HasSubstr("with 2 micro-batches in 2 parts"));
  EXPECT_EQ(first_advice(explanation).options, "--accumulate 4");
  EXPECT_FALSE(advises(explanation, "--split"));
}

TEST(Advice, EvaluatingOrSavingLessIsGivenOnlyWhereItIsLess) {
  MadeRun made(1);
  made.unusual[49] = made.unusual[99] = made.steps;
  for (const int64_t step : {49, 99}) {
    made.unusual[step][0][Part::evaluate] = 6;
    made.unusual[step][0][Part::checkpoint] = 6;
  }
  made.write_all();
  made.write("parts.json", made_parts(1, 33.6));
  const Explanation explanation = explain_made(made);
  EXPECT_TRUE(advises(explanation, "--evaluate-every 5"));
  EXPECT_FALSE(advises(explanation, "--checkpoint-every"));
  made.more = "[evaluate]\nevery = 2\n";
  made.write_job();
  EXPECT_FALSE(advises(explain_made(made), "--evaluate-every"));
}

}  // namespace

}  // namespace syrtos::report
