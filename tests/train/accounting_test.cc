// Where the time of steps went: that it adds up in every mode, and that whatever is slow is found
// on the right rank.

#include "syrtos/train/measure/accounting.h"

#include <gmock/gmock.h>

#include "syrtos/train/measure/measuring_cost.h"
#include "tests/train/simulated.h"
#include "tests/train/slow.h"

namespace syrtos::train {
namespace {

struct Mode {
  int workers;
  const char* exchange;
  const char* sync;
};

void PrintTo(const Mode& tested, std::ostream* out) {
  *out << tested.workers << " " << tested.exchange << " " << tested.sync;
}

class Accounts : public Distributed, public testing::WithParamInterface<Mode> {};

TEST_P(Accounts, AddUpToTheTimeOfEachStep) {
  JobRequest job = small_job("run");
  job.workers = GetParam().workers;
  job.exchange = GetParam().exchange;
  job.sync = GetParam().sync;
  job.checkpoint_every = 3;
  train(job);
  const strategy::Team team = team_of(resolve(job, cpu_info(), "nowhere"));
  const auto ranks = divisions_of(job);
  ASSERT_EQ(ranks.size(), static_cast<size_t>(team.workers + team.servers));
  for (const trace::RankDivision& rank : ranks) {
    ASSERT_GE(rank.records.size(), 2U);
    EXPECT_EQ(rank.records.front().step, 1);
    expect_no_gaps(rank);
    const StepDivision total = total_of(rank);
    if (rank.rank >= team.workers) {
      EXPECT_GT(total[Part::update], 0);
      EXPECT_GT(total[Part::network], 0);
      EXPECT_GT(total[Part::wait], 0);
      EXPECT_EQ(total[Part::forward] + total[Part::backward] + total[Part::evaluate], 0);
      continue;
    }
    EXPECT_GT(total[Part::forward], 0);
    EXPECT_GT(total[Part::backward], 0);
    EXPECT_GT(total[Part::evaluate], 0);
    EXPECT_EQ(total[Part::checkpoint] > 0, rank.rank == 0);
    if (job.workers == 1) {
      EXPECT_EQ(total[Part::wait], 0);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Modes, Accounts,
                         testing::Values(Mode{1, "allreduce", "join"}, Mode{3, "allreduce", "join"},
                                         Mode{2, "allreduce:ring", "split"},
                                         Mode{2, "allreduce", "local:2"}, Mode{3, "ps", "join"},
                                         Mode{2, "ps-colocated", "split"},
                                         Mode{2, "ps-sharded:2", "async"}, Mode{3, "ps", "ssp:1"},
                                         Mode{3, "ps", "backup:1"}));

TEST_F(Distributed, ASlowLoaderIsFoundOnItsRankAndOthersWaitForIt) {
  constexpr auto kPause = std::chrono::milliseconds(5);
  JobRequest job = small_job("run");
  job.workers = 2;
  job.epochs = 1;
  job.prefetch = 0;
  Job fast = resolve(job, cpu_info(), "nowhere");
  Job slow = fast;
  slow.data.train = std::make_shared<SlowData>(fast.data.train, kPause);
  train_over_tcp({fast, slow});
  const auto ranks = divisions_of(job);
  ASSERT_EQ(ranks.size(), 2U);
  const StepDivision first = total_of(ranks[0]), second = total_of(ranks[1]);
  const double paused = 35 * 0.005;  // rank 1's half of the samples
  EXPECT_GE(second[Part::load], paused);
  EXPECT_GT(first[Part::wait], second[Part::wait]);
  EXPECT_LT(first[Part::load], second[Part::load]);
}

constexpr double kSteps = 6;

TEST_F(Simulated, ComputingIsWhatItTakes) {
  const auto totals = simulate(job_of("allreduce", "join", 1), fast_cluster(1));
  ASSERT_EQ(totals.size(), 1U);
  EXPECT_NEAR(totals[0][Part::forward], kSteps * kPass / 3, 1e-6);
  EXPECT_NEAR(totals[0][Part::backward], kSteps * kPass * 2 / 3, 1e-6);
  EXPECT_NEAR(totals[0][Part::update], kSteps * kUpdate, 1e-6);
  EXPECT_EQ(totals[0][Part::network] + totals[0][Part::wait], 0);
  EXPECT_NEAR(totals[0][Part::other], 0, 1e-6);
}

TEST_F(Simulated, OthersWaitForARankThatComputesSlowly) {
  SimOptions cluster = fast_cluster(3);
  cluster.hosts[1].speed = 0.25;
  for (const char* exchange : {"allreduce", "ps"}) {
    if (std::string(exchange) == "ps") cluster.hosts.push_back(cluster.hosts[0]);
    JobRequest job = job_of(exchange, "join", 3);
    job.run = (directory_ / exchange).string();
    const auto totals = simulate(job, cluster);
    ASSERT_EQ(totals.size(), cluster.hosts.size());
    const double later = kSteps * kPass * 3;  // that rank 1 computes longer than the others
    for (const size_t rank : {size_t{0}, size_t{2}}) {
      EXPECT_NEAR(totals[rank][Part::forward], kSteps * kPass / 3, 1e-6) << exchange;
      // The slow one's updates hold the others up too, where workers update.
      EXPECT_GT(totals[rank][Part::wait], 0.9 * later) << exchange;
      EXPECT_GT(totals[rank][Part::wait], 5 * totals[rank][Part::network]) << exchange;
    }
    EXPECT_NEAR(totals[1][Part::forward], kSteps * kPass / 3 * 4, 1e-6) << exchange;
    EXPECT_LT(totals[1][Part::wait], 0.05 * later) << exchange;
  }
}

TEST_F(Simulated, ASlowLinkIsNetworkAndNobodyWaitsForOthers) {
  const auto fast = simulate(job_of("allreduce:ring", "join", 2), fast_cluster(2));
  SimOptions cluster = fast_cluster(2);
  for (world::SimHost& host : cluster.hosts) host.bandwidth = 20e6;
  JobRequest job = job_of("allreduce:ring", "join", 2);
  job.run = (directory_ / "slow").string();
  const auto slow = simulate(job, cluster);
  for (size_t rank = 0; rank < 2; ++rank) {
    EXPECT_GT(slow[rank][Part::network], 10 * fast[rank][Part::network]);
    EXPECT_GT(slow[rank][Part::network], slow[rank][Part::forward] + slow[rank][Part::backward]);
    EXPECT_LT(slow[rank][Part::wait], 0.1 * slow[rank][Part::network]);
    EXPECT_NEAR(slow[rank][Part::forward], fast[rank][Part::forward], 1e-6);
  }
}

TEST_F(Simulated, AServerIsBusyWhereItsLinkIsSlowAndWaitsWhereItIsNot) {
  for (const char* sync : {"join", "async"}) {
    SimOptions cluster = world::uniform_cluster(4, 1e10, 10e-6);
    JobRequest job = job_of("ps", sync, 3);
    job.run = (directory_ / fmt::format("fast-{}", sync)).string();
    const StepDivision fast = simulate(job, cluster).at(3);
    EXPECT_GT(fast[Part::wait], 0.5 * fast.sum()) << sync;
    cluster.hosts[3].bandwidth = 20e6;
    job.run = (directory_ / fmt::format("slow-{}", sync)).string();
    const StepDivision slow = simulate(job, cluster).at(3);
    EXPECT_GT(slow[Part::network], 0.8 * slow.sum()) << sync;
    EXPECT_EQ(json_of(job, "exchange.json").at("servers").at(0).at("rank"), 3);
  }
}

TEST_F(Simulated, WorkersOfAsyncWaitForNobodyWithinAnEpoch) {
  SimOptions cluster = fast_cluster(3);
  cluster.hosts[1].speed = 0.5;
  const auto free = simulate(job_of("ps", "async", 2), cluster);
  JobRequest job = job_of("ps", "ssp:1", 2);
  job.run = (directory_ / "ssp").string();
  const auto bound = simulate(job, cluster);
  // Both wait at the end of the epoch; one step ahead is all that ssp:1 allows before.
  EXPECT_NEAR(free[0][Part::wait], kSteps * kPass, 0.2 * kSteps * kPass);
  EXPECT_NEAR(bound[0][Part::wait], kSteps * kPass, 0.2 * kSteps * kPass);
  const auto epoch = [](const nlohmann::json& line) {
    return line.at("workers").at(0).at("seconds").at("wait").get<double>();
  };
  const auto line_of = [&](const char* run) {
    std::ifstream in(directory_ / run / "metrics.jsonl");
    return nlohmann::json::parse(in);
  };
  EXPECT_EQ(epoch(line_of("run")), 0);
  EXPECT_GT(epoch(line_of("ssp")), 2 * kPass);
}

TEST_F(Simulated, ExchangeThatComputingHidesIsCountedBesideIt) {
  JobRequest job = job_of("allreduce:ring", "join", 2);
  job.bucket_mb = 0.02;
  const auto totals = simulate(job, fast_cluster(2));
  for (const StepDivision& total : totals) {
    EXPECT_GT(total.hidden_network, 0);
    EXPECT_LE(total.hidden_network,
              total[Part::forward] + total[Part::backward] + total[Part::update] + 1e-6);
  }
  const nlohmann::json exchange = json_of(job, "exchange.json");
  EXPECT_GT(exchange.at("measuring_share").get<double>(), 0);
  ASSERT_GT(exchange.at("buckets").size(), 1U);
  double before = 0;
  for (const nlohmann::json& bucket : exchange.at("buckets")) {
    EXPECT_GE(bucket.at("ready_s").get<double>(), before) << "buckets become final in order";
    EXPECT_GT(bucket.at("arrived_s").get<double>(), bucket.at("ready_s").get<double>());
    before = bucket.at("ready_s").get<double>();
  }
  EXPECT_EQ(exchange.at("buckets").front().at("last_layer"), "fc3");
  EXPECT_EQ(exchange.at("buckets").back().at("first_layer"), "conv1");
  EXPECT_GT(exchange.at("bytes_sent").get<int64_t>(), 0);
}

TEST_F(Distributed, KernelsAreCountedOncePerStep) {
  JobRequest job = small_job("run");
  job.samples = 64;
  train(job);
  const nlohmann::json operators = json_of(job, "operators.json");
  EXPECT_EQ(operators.at("network"), "lenet5");
  EXPECT_EQ(operators.at("batch"), 16);
  ASSERT_FALSE(operators.at("items").empty());
  double seconds = 0;
  for (const nlohmann::json& item : operators.at("items")) {
    EXPECT_EQ(item.at("calls"), 8) << item;
    EXPECT_GT(item.at("bytes").get<double>(), 0) << item;
    seconds += item.at("seconds").get<double>();
  }
  const StepDivision total = total_of(divisions_of(job).at(0));
  EXPECT_GT(seconds, 0);
  EXPECT_LE(seconds, total[Part::forward] + total[Part::backward]);
}

TEST_F(Distributed, ATraceHasTheStepsThatWereAskedForOfEveryRank) {
  JobRequest job = small_job("run");
  job.workers = 2;
  job.trace = "steps=2..3";
  train(job);
  const trace::TraceContents trace =
      trace::read_trace(std::filesystem::path(job.run) / "trace.json.gz");
  EXPECT_EQ(trace.problem, "");
  ASSERT_EQ(trace.ranks.size(), 2U);
  for (const trace::RankEvents& rank : trace.ranks) {
    std::vector<int64_t> steps;
    std::map<std::string, int64_t> events;
    for (const trace::TrackEvents& track : rank.tracks) {
      events[track.name] += static_cast<int64_t>(track.events.size());
      for (const trace::Event& event : track.events) {
        const bool is_step = rank.names[event.name].text == "step" && event.arguments.size() == 1;
        if (is_step) steps.push_back(event.arguments[0].value);
      }
    }
    EXPECT_THAT(steps, testing::ElementsAre(2, 3));
    for (const char* track : {"worker", "compute", "exchange"})
      EXPECT_GT(events[track], 0) << track;
    EXPECT_EQ(rank.tracks.front().name, "worker");
  }
}

TEST_F(Distributed, ATraceHasTheEventsOfServersToo) {
  JobRequest job = small_job("run");
  job.workers = 2;
  job.exchange = "ps-sharded:2";
  job.trace = "steps=2..3";
  train(job);
  const trace::TraceContents trace =
      trace::read_trace(std::filesystem::path(job.run) / "trace.json.gz");
  ASSERT_EQ(trace.ranks.size(), 4U);
  for (const size_t server : {size_t{2}, size_t{3}}) {
    std::map<std::string, size_t> events;
    for (const trace::TrackEvents& track : trace.ranks[server].tracks) {
      events[track.name] += track.events.size();
    }
    for (const char* track : {"server", "network, sent", "network, received"}) {
      EXPECT_GT(events[track], 0U) << track;
    }
    EXPECT_EQ(trace.ranks[server].rank, static_cast<int>(server));
    EXPECT_EQ(trace.ranks[server].tracks.front().name, "server");
    for (const char* track : {"worker", "compute", "loader"}) EXPECT_EQ(events.count(track), 0U);
  }
}

TEST_F(Distributed, AnUpdateOfAServerIsOneSpanOfTheTrace) {
  JobRequest job = small_job("run");
  job.workers = 2;
  job.exchange = "ps";
  job.bucket_mb = 100;  // all in one piece
  job.trace = "all";
  const Result result = train(job);
  const trace::TraceContents trace =
      trace::read_trace(std::filesystem::path(job.run) / "trace.json.gz");
  ASSERT_EQ(trace.ranks.size(), 3U);
  int64_t updates = 0;
  for (const trace::TrackEvents& track : trace.ranks[2].tracks) {
    for (const trace::Event& event : track.events) {
      if (trace.ranks[2].names[event.name].text == "update") ++updates;
    }
  }
  EXPECT_EQ(updates, result.outcome.position.step);
}

TEST(Trace, StepsAreAllOrARange) {
  EXPECT_FALSE(job::parse_trace("none").any());
  EXPECT_TRUE(job::parse_trace("all").contains(1));
  EXPECT_TRUE(job::parse_trace("steps=7").contains(7));
  EXPECT_FALSE(job::parse_trace("steps=7").contains(8));
  EXPECT_TRUE(job::parse_trace("steps=100..110").contains(110));
  EXPECT_FALSE(job::parse_trace("steps=100..110").contains(99));
  for (const char* wrong :
       {"", "steps", "steps=", "steps=0", "steps=5..4", "steps=1..x", "job.toml"}) {
    EXPECT_THROW(job::parse_trace(wrong), RequestError) << wrong;
  }
}

TEST(MeasuringCost, CountsLooksAtTheClockAndEvents) {
  const MeasuringCost cost{.look_s = 1, .event_s = 10};
  EXPECT_DOUBLE_EQ(cost.seconds(2, 3), 32);
  EXPECT_GT(MeasuringCost::measure().look_s, 0);
  EXPECT_GT(MeasuringCost::measure().event_s, 0);
}

}  // namespace
}  // namespace syrtos::train
