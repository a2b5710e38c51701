#include "syrtos/strategy/layout.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "tests/strategy/toy.h"

namespace syrtos::strategy {
namespace {

constexpr double kLatency = 60e-6;
constexpr double kGigabit = 117e6;

TEST(Buckets, ASmallNetworkHasSeveralThatOverlap) {
  const size_t lenet = 62'006 * sizeof(float);
  for (const int ranks : {2, 4, 8}) {
    const size_t bytes = bucket_bytes(kLatency, kGigabit, ranks, lenet);
    EXPECT_LT(bytes, lenet / 2) << ranks;
    EXPECT_GE(bytes, lenet / 8) << ranks;
  }
}

TEST(Buckets, OfALargeNetworkAreLargeEnoughForLatencyToBeSmall) {
  const size_t alexnet = 61'000'000 * sizeof(float);
  EXPECT_EQ(bucket_bytes(kLatency, kGigabit, 2, alexnet), 1'000'000U);
  EXPECT_GT(bucket_bytes(kLatency, kGigabit, 16, alexnet), 1'000'000U);
  EXPECT_EQ(bucket_bytes(1, kGigabit, 16, alexnet * 1000), 32'000'000U);
}

TEST(Buckets, OfATinyNetworkAreOneMessage) {
  EXPECT_EQ(bucket_bytes(kLatency, kGigabit, 4, 400), 16'000U);
  EXPECT_EQ(bucket_bytes(kLatency, kGigabit, 1, 0), 16'000U);
  EXPECT_EQ(bucket_bytes(0, kGigabit, 4, 400), 16'000U);
}

TEST(Buckets, JoinNeighboursUpToTheirSizeAndKeepLargeTensorsWhole) {
  const Layout layout = toy_layout({16, 16, 160, 16}, 40 * sizeof(float));
  ASSERT_EQ(layout.buckets.size(), 3U);
  EXPECT_EQ(layout.buckets[0].last_tensor, 2);
  EXPECT_EQ(layout.buckets[1].last_tensor, 3);
  EXPECT_GE(layout.buckets[1].count, 160U);
  EXPECT_EQ(bucket_of_tensor(layout), (std::vector<int>{0, 0, 1, 2}));
}

TEST(Servers, TogetherHaveEveryElementOnceAndAboutEquallyMany) {
  const Layout layout = toy_layout({3'000'000, 16, 700'000, 64, 2'400'000}, 4'000'000);
  for (const int servers : {1, 2, 3, 7}) {
    std::vector<size_t> load(static_cast<size_t>(servers));
    size_t end = 0;
    for (const Piece& piece : place_on_servers(layout, servers)) {
      EXPECT_EQ(piece.first, end);
      end = piece.first + piece.count;
      load[static_cast<size_t>(piece.server)] += piece.count;
    }
    EXPECT_EQ(end, layout.buckets.back().first + layout.buckets.back().count);
    const auto [least, most] = std::minmax_element(load.begin(), load.end());
    EXPECT_LE(*most - *least, 256U << 10);
  }
}

TEST(Servers, ShareEveryLargeTensor) {
  const Layout layout = toy_layout({3'000'000, 3'000'000, 3'000'000, 3'000'000}, 4'000'000);
  const std::vector<Piece> pieces = place_on_servers(layout, 4);
  for (int bucket = 0; bucket < 4; ++bucket) {
    std::set<int> servers;
    for (const Piece& piece : pieces) {
      if (piece.bucket == bucket) servers.insert(piece.server);
    }
    EXPECT_EQ(servers.size(), 4U) << bucket;
  }
}

}  // namespace
}  // namespace syrtos::strategy
