#include "syrtos/collective/predict.h"

#include <gtest/gtest.h>

#include "syrtos/collective/collective.h"

namespace syrtos::collective {
namespace {

constexpr Algorithm kAlgorithms[] = {Algorithm::ring, Algorithm::halving_doubling,
                                     Algorithm::doubling, Algorithm::tree, Algorithm::hierarchical};
constexpr LinkSpeed kLink{1e-4, 1e8};

TEST(PredictedSeconds, FollowTheTextbookWithOneRankPerHost) {
  const double mb = 1e6 / 1e8;  // seconds
  EXPECT_DOUBLE_EQ(predicted_seconds(Algorithm::ring, 4, 4, 1'000'000, kLink), 6 * (1e-4 + mb / 4));
  EXPECT_DOUBLE_EQ(predicted_seconds(Algorithm::halving_doubling, 4, 4, 1'000'000, kLink),
                   4 * 1e-4 + 2 * 0.75 * mb);
  EXPECT_DOUBLE_EQ(predicted_seconds(Algorithm::halving_doubling, 5, 5, 1'000'000, kLink),
                   6 * 1e-4 + 2 * 0.8 * mb);
  EXPECT_DOUBLE_EQ(predicted_seconds(Algorithm::tree, 5, 5, 1'000'000, kLink), 6 * (1e-4 + mb));
  EXPECT_DOUBLE_EQ(predicted_seconds(Algorithm::doubling, 5, 5, 1'000'000, kLink), 4 * (1e-4 + mb));
  EXPECT_EQ(predicted_seconds(Algorithm::ring, 1, 1, 1'000'000, kLink), 0);
  EXPECT_EQ(predicted_seconds(Algorithm::tree, 4, 4, 0, kLink), 0);
}

TEST(PredictedSeconds, RanksOfOneHostShareItsLink) {
  const LinkSpeed within{0, 1e12};  // costs next to nothing
  const double flat =
      predicted_seconds(Algorithm::halving_doubling, 8, 2, 8'000'000, kLink, within);
  // In the outermost rounds four ranks send half of the buffer each.
  EXPECT_NEAR(flat, 2 * (1e-4 + 4 * 4e6 / 1e8), 1e-4);
  EXPECT_NEAR(predicted_seconds(Algorithm::hierarchical, 8, 2, 8'000'000, kLink, within),
              2 * (1e-4 + 4e6 / 1e8), 1e-4);
}

TEST(PredictedSeconds, AgreeWithWhatTheRoundsSendWhenTheyDivideEvenly) {
  for (const int n : {2, 4, 5, 8, 10, 16}) {
    std::vector<int> host(static_cast<size_t>(n));
    for (int i = 0; i < n; ++i) host[static_cast<size_t>(i)] = i;
    const Group group = Group::on_hosts(host);
    for (const Algorithm algorithm : {Algorithm::ring, Algorithm::halving_doubling}) {
      const Cost cost = cost_all_reduce(algorithm, 0, group, 16000);
      EXPECT_NEAR(predicted_seconds(algorithm, n, n, size_t{4} * 16000, kLink),
                  static_cast<double>(cost.rounds) * kLink.latency_s +
                      static_cast<double>(cost.bytes_sent) / kLink.bytes_per_s,
                  1e-12);
    }
  }
}

TEST(Choose, TakesTheCheapestByTheFormulaOrARingThatTakesATenthLonger) {
  for (int hosts = 1; hosts <= 9; ++hosts) {
    for (const int each : {1, 2, 4}) {
      for (size_t bytes = 4; bytes <= size_t{1} << 28; bytes *= 4) {
        const int ranks = hosts * each;
        const Algorithm chosen = choose(ranks, hosts, bytes, kLink);
        const double longer = chosen == Algorithm::ring ? 1.1 : 1;
        for (const Algorithm other : kAlgorithms) {
          EXPECT_LE(predicted_seconds(chosen, ranks, hosts, bytes, kLink),
                    predicted_seconds(other, ranks, hosts, bytes, kLink) * longer * (1 + 1e-8));
        }
        EXPECT_EQ(predicted_seconds(Algorithm::automatic, ranks, hosts, bytes, kLink),
                  predicted_seconds(chosen, ranks, hosts, bytes, kLink));
      }
    }
  }
}

TEST(Choose, FewRoundsForSmallBuffersAndFewBytesForLargeOnes) {
  EXPECT_EQ(choose(6, 6, 1024, kEthernet), Algorithm::doubling);
  EXPECT_EQ(choose(8, 2, 1024, kEthernet), Algorithm::doubling);
  EXPECT_EQ(choose(6, 6, 100 << 20, kEthernet), Algorithm::ring);
  EXPECT_EQ(choose(8, 8, 100 << 20, kEthernet), Algorithm::ring);
  EXPECT_EQ(choose(8, 8, 64 << 10, kEthernet), Algorithm::halving_doubling);
  EXPECT_EQ(choose(16, 4, 100 << 20, kEthernet), Algorithm::hierarchical);
  // Two processes of one host send equally much either way, and with a ring they add half of it.
  const LinkSpeed memory{1e-6, 5e9};
  EXPECT_EQ(choose(2, 1, 4 << 10, memory), Algorithm::doubling);
  EXPECT_EQ(choose(2, 1, 64 << 10, memory), Algorithm::ring);
}

TEST(Choose, IsWhatAnAllReduceDoes) {
  const Group group = Group::on_hosts({0, 1, 2, 3, 4, 5});
  EXPECT_EQ(algorithm_of({}, group, 256), Algorithm::doubling);
  EXPECT_EQ(algorithm_of({.algorithm = Algorithm::tree}, group, 25 << 20), Algorithm::tree);
  const LinkSpeed no_latency{0, 1e8};
  EXPECT_EQ(algorithm_of({.link = no_latency}, group, 256), Algorithm::ring);
}

TEST(Algorithm, IsParsedFromItsName) {
  for (const char* name :
       {"auto", "ring", "halving-doubling", "doubling", "tree", "hierarchical", "mpi"}) {
    EXPECT_STREQ(to_string(parse_algorithm(name)), name);
  }
  EXPECT_THROW(parse_algorithm("rings"), RequestError);
}

}  // namespace
}  // namespace syrtos::collective
