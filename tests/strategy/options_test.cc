#include "syrtos/strategy/options.h"

#include <gtest/gtest.h>

#include "syrtos/strategy/team.h"

namespace syrtos::strategy {
namespace {

struct SyncAnswers {
  const char* sync;
  bool in_step, sees_all_gradients, splits_batch, updates_one_by_one, nobody_waits;
  std::optional<int64_t> slack;
  int64_t left_out, average_every;
  int64_t step_samples, worker_samples;  ///< of a batch of 10 and 4 workers
};

TEST(Sync, AnswersWhatEachKindMeans) {
  const SyncAnswers table[] = {
      {"join", true, true, false, false, false, {}, 0, 0, 40, 10},
      {"split", true, true, true, false, false, {}, 0, 0, 10, 3},
      {"async", false, false, false, true, true, {}, 0, 0, 40, 10},
      {"ssp:3", false, false, false, true, false, 3, 0, 0, 40, 10},
      {"ssp:0", false, false, false, true, false, 0, 0, 0, 40, 10},
      {"backup:2", false, false, false, false, false, {}, 2, 0, 40, 10},
      {"local:8", true, false, false, false, false, {}, 0, 8, 40, 10},
  };
  for (const SyncAnswers& expected : table) {
    SCOPED_TRACE(expected.sync);
    const Sync sync = parse_sync(expected.sync);
    EXPECT_EQ(sync.in_step(), expected.in_step);
    EXPECT_EQ(sync.sees_all_gradients(), expected.sees_all_gradients);
    EXPECT_EQ(sync.splits_batch(), expected.splits_batch);
    EXPECT_EQ(sync.updates_one_by_one(), expected.updates_one_by_one);
    EXPECT_EQ(sync.nobody_waits(), expected.nobody_waits);
    EXPECT_EQ(sync.slack(), expected.slack);
    EXPECT_EQ(sync.left_out(), expected.left_out);
    EXPECT_EQ(sync.average_every(), expected.average_every);
    EXPECT_EQ(sync.step_samples(10, 4), expected.step_samples);
    EXPECT_EQ(sync.worker_samples(10, 4), expected.worker_samples);
  }
}

struct ExchangeAnswers {
  const char* exchange;
  bool among_workers, uses_servers, workers_serve, shares_memory, needs_mpi;
  int own_servers;
  UpdateAt update;
  int ranks, serving;  ///< with 3 workers
  Rank first_server;
};

TEST(Exchange, AnswersWhatEachKindMeans) {
  const ExchangeAnswers table[] = {
      {"allreduce", true, false, false, false, false, 0, UpdateAt::worker, 3, 3, 0},
      {"allreduce:mpi", true, false, false, false, true, 0, UpdateAt::worker, 3, 3, 0},
      {"ps", false, true, false, false, false, 1, UpdateAt::server, 4, 1, 3},
      {"ps-sharded:2", false, true, false, false, false, 2, UpdateAt::server, 5, 2, 3},
      {"ps-colocated", false, true, true, false, false, 0, UpdateAt::server, 3, 3, 0},
      {"shared", false, false, false, true, false, 0, UpdateAt::worker, 3, 3, 0},
  };
  for (const ExchangeAnswers& expected : table) {
    SCOPED_TRACE(expected.exchange);
    Options options;
    options.exchange = parse_exchange(expected.exchange);
    EXPECT_EQ(options.exchange.among_workers(), expected.among_workers);
    EXPECT_EQ(options.exchange.uses_servers(), expected.uses_servers);
    EXPECT_EQ(options.exchange.workers_serve(), expected.workers_serve);
    EXPECT_EQ(options.exchange.shares_memory(), expected.shares_memory);
    EXPECT_EQ(options.exchange.needs_mpi(), expected.needs_mpi);
    EXPECT_EQ(options.exchange.own_servers(), expected.own_servers);
    EXPECT_EQ(default_update(options.exchange), expected.update);
    const Team team = team_of(options, 3);
    EXPECT_EQ(team.ranks(), expected.ranks);
    EXPECT_EQ(team.serving(), expected.serving);
    EXPECT_EQ(team.server_rank(0), expected.first_server);
    EXPECT_EQ(team.server_index(team.server_rank(0)), 0);
    EXPECT_EQ(team.worker_ranks(), (std::vector<Rank>{0, 1, 2}));
  }
}

Options options_of(const char* exchange, const char* sync, const char* wire = "f32") {
  Options options;
  options.exchange = parse_exchange(exchange);
  options.sync = parse_sync(sync);
  options.wire = parse_wire(wire);
  return options;
}

TEST(Options, OnlyWorkersThatHoldNothingCanBeSpared) {
  EXPECT_TRUE(options_of("ps", "async").tolerates_losses());
  EXPECT_TRUE(options_of("ps-sharded:2", "backup:1").tolerates_losses());
  EXPECT_FALSE(options_of("ps-colocated", "async").tolerates_losses());
  EXPECT_FALSE(options_of("shared", "async").tolerates_losses());
  EXPECT_FALSE(options_of("ps", "join").tolerates_losses());
  EXPECT_FALSE(options_of("allreduce", "local:4").tolerates_losses());
}

TEST(Options, WeightsAreTheSameEverywhereWhereAllTakeTheSameUpdates) {
  EXPECT_TRUE(options_of("allreduce", "join").same_everywhere());
  EXPECT_TRUE(options_of("allreduce:tree", "split").same_everywhere());
  EXPECT_FALSE(options_of("allreduce", "local:4").same_everywhere());
  EXPECT_FALSE(options_of("ps", "join").same_everywhere());
}

TEST(Options, SayWhatTheyDoToTheResult) {
  EXPECT_EQ(effect_of(options_of("allreduce", "join"), 1), "same result");
  EXPECT_EQ(effect_of(options_of("allreduce", "split"), 4), "same result");
  EXPECT_EQ(effect_of(options_of("allreduce", "split", "bf16"), 4), "same result, rounded");
  EXPECT_EQ(effect_of(options_of("ps", "backup:1"), 4), "batch x 3");
  EXPECT_EQ(effect_of(options_of("ps", "ssp:2"), 4), "stale by 2 at most");
}

}  // namespace
}  // namespace syrtos::strategy
