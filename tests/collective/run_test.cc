// All-reduces and their halves in one process, with real numbers.

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "syrtos/collective/bf16.h"
#include "syrtos/collective/collective.h"
#include "syrtos/world/local/local.h"
#include "syrtos/world/started.h"
#include "tests/collective/simulation.h"

namespace syrtos::collective {
namespace {

using world::LocalCluster;
using world::Task;
using world::World;

constexpr Algorithm kAlgorithms[] = {Algorithm::ring, Algorithm::halving_doubling,
                                     Algorithm::doubling, Algorithm::tree, Algorithm::hierarchical};

/// Not representable exactly: every order of summation gives other bits.
float value_of(int member, size_t element) {
  return std::sin(static_cast<float>(member * 7919 + element * 31 + 1)) * 3.7F;
}

std::vector<float> values_of(int member, size_t elements) {
  std::vector<float> values(elements);
  for (size_t i = 0; i < elements; ++i) values[i] = value_of(member, i);
  return values;
}

struct Sums {
  std::vector<double> sum;
  std::vector<double> magnitude;  ///< sum of absolute values
};

Sums sums_of(int members, size_t elements) {
  Sums sums{std::vector<double>(elements, 0), std::vector<double>(elements, 0)};
  for (int member = 0; member < members; ++member) {
    for (size_t i = 0; i < elements; ++i) {
      sums.sum[i] += value_of(member, i);
      sums.magnitude[i] += std::abs(value_of(member, i));
    }
  }
  return sums;
}

/// Each rounding errs by at most this part of the partial sum.
double unit(bool as_bf16) { return as_bf16 ? 0x1p-8 : 0x1p-24; }

/// One all-reduce; the results of all members are left in `results`.
Task<> reduce_values(World& world, const Group& group, size_t elements, ReduceOptions options,
                     std::vector<std::vector<float>>& results) {
  const int member = group.index_of(world.rank());
  std::vector<float>& values = results[static_cast<size_t>(member)];
  values = values_of(member, elements);
  const world::Traffic before = world.traffic();
  const Floats floats{values.data(), elements};
  co_await all_reduce(world, group, floats, options);
  const Cost cost = cost_of(options, member, group, elements);
  EXPECT_EQ(world.traffic().messages_sent - before.messages_sent, cost.messages_sent);
  EXPECT_EQ(world.traffic().bytes_sent - before.bytes_sent, cost.bytes_sent);
}

void expect_sums(const Group& group, size_t elements, const ReduceOptions& options) {
  const int n = group.size();
  SCOPED_TRACE(testing::Message() << to_string(options.algorithm) << " "
                                  << (options.as_bf16 ? "as bf16" : "f32") << ", " << n
                                  << " members, " << elements << " elements, " << options.slices
                                  << " slices");
  LocalCluster cluster(n);
  std::vector<std::vector<float>> results(static_cast<size_t>(n));
  run_all(cluster,
          [&](World& world) { return reduce_values(world, group, elements, options, results); });
  const Sums expected = sums_of(n, elements);
  for (size_t i = 0; i < elements; ++i) {
    // n - 1 partial sums are rounded, and what is sent in the end.
    const double bound = n * unit(options.as_bf16) * expected.magnitude[i] * 1.01;
    ASSERT_NEAR(results[0][i], expected.sum[i], n == 1 ? 0 : bound) << i;
  }
  for (int member = 1; member < n && elements > 0; ++member) {
    const auto& result = results[static_cast<size_t>(member)];
    EXPECT_EQ(std::memcmp(result.data(), results[0].data(), elements * sizeof(float)), 0)
        << "other bits on member " << member;
  }
}

TEST(AllReduce, GivesEveryMemberTheSameBitsOfTheSumForTheCostOfTheFormula) {
  for (const Algorithm algorithm : kAlgorithms) {
    for (const bool as_bf16 : {false, true}) {
      for (const int n : {1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 17}) {
        for (const size_t elements : awkward_sizes(n)) {
          expect_sums(Group::on_hosts(std::vector<int>(n, 0)), elements,
                      {.algorithm = algorithm, .as_bf16 = as_bf16});
        }
      }
    }
  }
}

TEST(AllReduce, WorksOverSeveralHosts) {
  for (const auto& host : std::vector<std::vector<int>>{
           {0, 0, 1, 1}, {0, 0, 0, 1}, {0, 1, 2}, {0, 1, 0, 1, 2, 2}, {0, 0, 1, 1, 2, 2, 3, 3}}) {
    for (const bool as_bf16 : {false, true}) {
      for (const size_t elements : {1, 3, 1000, 4099}) {
        expect_sums(Group::on_hosts(host), elements,
                    {.algorithm = Algorithm::hierarchical, .as_bf16 = as_bf16});
        expect_sums(Group::on_hosts(host), elements,
                    {.algorithm = Algorithm::automatic, .as_bf16 = as_bf16});
      }
    }
  }
}

TEST(AllReduce, WorksInSlices) {
  for (const Algorithm algorithm : kAlgorithms) {
    for (const int slices : {2, 3, 5}) {
      for (const size_t elements : {1, 4, 4099}) {
        expect_sums(Group::on_hosts({0, 0, 1, 1, 1}), elements,
                    {.algorithm = algorithm, .slices = slices});
      }
    }
  }
  // Large enough to be sliced by itself.
  const ReduceOptions large{.algorithm = Algorithm::ring};
  const Group group = Group::on_hosts({0, 1, 2});
  EXPECT_EQ(slices_of(large, group, 300'000), 2);
  expect_sums(group, 300'000, large);
}

Task<> reduce_buckets(World& world, const Group& group, std::vector<std::vector<float>>& buckets) {
  std::vector<world::Started> running;
  for (size_t bucket = 0; bucket < buckets.size(); ++bucket) {
    // Begun in another order on each rank.
    const size_t at = (bucket + static_cast<size_t>(world.rank())) % buckets.size();
    ReduceOptions options{.algorithm = kAlgorithms[at % 5], .slices = at % 3 == 0 ? 2 : 1};
    options.tag.item = static_cast<uint16_t>(at);
    options.tag.round = 5;
    options.priority = static_cast<int>(at);
    const Floats floats{buckets[at].data(), buckets[at].size()};
    running.emplace_back(world, all_reduce(world, group, floats, options));
  }
  co_await join_all(world, running);
}

TEST(AllReduce, BucketsDoNotDisturbEachOther) {
  constexpr int kRanks = 5;
  constexpr size_t kBuckets = 9;
  const Group group = Group::on_hosts({0, 0, 0, 1, 1});
  std::vector<std::vector<std::vector<float>>> ranks(kRanks);
  for (int rank = 0; rank < kRanks; ++rank) {
    for (size_t bucket = 0; bucket < kBuckets; ++bucket) {
      ranks[rank].push_back(values_of(rank, 100 * bucket + 3));
    }
  }
  LocalCluster cluster(kRanks);
  run_all(cluster, [&](World& world) { return reduce_buckets(world, group, ranks[world.rank()]); });
  for (size_t bucket = 0; bucket < kBuckets; ++bucket) {
    const Sums expected = sums_of(kRanks, 100 * bucket + 3);
    for (size_t i = 0; i < expected.sum.size(); ++i) {
      ASSERT_NEAR(ranks[0][bucket][i], expected.sum[i], 1e-5 * expected.magnitude[i]);
    }
    for (const auto& rank : ranks) EXPECT_EQ(rank[bucket], ranks[0][bucket]);
  }
}

Task<> reduce_subset(World& world, const Group& group, std::vector<float>& values) {
  if (group.index_of(world.rank()) < 0) co_return;
  const Floats floats{values.data(), values.size()};
  co_await all_reduce(world, group, floats, ReduceOptions{.algorithm = Algorithm::ring});
}

TEST(AllReduce, TakesOnlyTheMembersOfItsGroup) {
  LocalCluster cluster(5);
  const Group group = Group::of(cluster.world(0), {4, 1, 2});
  std::vector<std::vector<float>> values(5, std::vector<float>(10));
  for (size_t rank = 0; rank < 5; ++rank) values[rank].assign(10, static_cast<float>(rank));
  run_all(cluster, [&](World& world) { return reduce_subset(world, group, values[world.rank()]); });
  for (const size_t rank : {1, 2, 4}) EXPECT_EQ(values[rank], std::vector<float>(10, 7.0F));
  for (const size_t rank : {0, 3}) EXPECT_EQ(values[rank], std::vector<float>(10, rank));
}

Task<> reduce_sizes(World& world, const Group& group, bool as_bf16) {
  for (const Algorithm algorithm : kAlgorithms) {
    const Floats floats{nullptr, 1001};
    const ReduceOptions options{.algorithm = algorithm, .as_bf16 = as_bf16};
    const uint64_t before = world.traffic().bytes_sent;
    co_await all_reduce(world, group, floats, options);
    EXPECT_EQ(world.traffic().bytes_sent - before,
              cost_of(options, world.rank(), group, 1001).bytes_sent);
  }
}

TEST(AllReduce, MovesSizesWhereThereIsNoData) {
  const Group group = Group::on_hosts({0, 0, 1});
  for (const bool as_bf16 : {false, true}) {
    LocalCluster cluster(3);
    run_all(cluster, [&](World& world) { return reduce_sizes(world, group, as_bf16); });
  }
}

/// Values change from run to run; the memory does not.
Task<> reduce_prepared(World& world, const Group& group, ReduceOptions options,
                       std::vector<std::vector<float>>& results) {
  std::vector<float>& values = results[static_cast<size_t>(world.rank())];
  values.resize(1000);
  PreparedAllReduce prepared(world, group, Floats{values.data(), values.size()}, options);
  for (const uint32_t round : {0, 1, 7}) {
    std::ranges::copy(values_of(world.rank() + static_cast<int>(round), 1000), values.begin());
    co_await prepared.run(round);
  }
}

TEST(AllReduce, PreparedGivesTheSameBitsEachTime) {
  const Group group = Group::on_hosts({0, 0, 1});
  for (const Algorithm algorithm : kAlgorithms) {
    for (const bool as_bf16 : {false, true}) {
      for (const int slices : {1, 2}) {
        const ReduceOptions options{.algorithm = algorithm, .as_bf16 = as_bf16, .slices = slices};
        std::vector<std::vector<float>> results(3), fresh(3);
        LocalCluster cluster(3);
        run_all(cluster,
                [&](World& world) { return reduce_prepared(world, group, options, results); });
        LocalCluster another(3);
        run_all(another, [&](World& world) -> Task<> {
          auto& values = fresh[static_cast<size_t>(world.rank())];
          values = values_of(world.rank() + 7, 1000);
          return all_reduce(world, group, Floats{values.data(), values.size()}, options);
        });
        EXPECT_EQ(results, fresh) << to_string(algorithm);
      }
    }
  }
}

Task<> abandon_and_run_again(World& world, const Group& group, std::vector<float>& values) {
  PreparedAllReduce prepared(world, group, Floats{values.data(), values.size()},
                             {.algorithm = Algorithm::ring, .slices = 2});
  if (world.rank() == 0) {
    // Nobody answers yet: it waits when it is given up.
    world::Started given_up(world, prepared.run(0));
    EXPECT_FALSE(given_up.done());
  }
  co_await barrier(world, group, {world::Purpose::barrier, 0, 0});
  values.assign(values.size(), 1);
  co_await prepared.run(1);
}

TEST(AllReduce, PreparedRunsAgainAfterItWasAbandoned) {
  const Group group = Group::on_hosts({0, 0});
  LocalCluster cluster(2);
  std::vector<std::vector<float>> values(2, std::vector<float>(100));
  run_all(cluster,
          [&](World& world) { return abandon_and_run_again(world, group, values[world.rank()]); });
  for (const auto& one : values) EXPECT_EQ(one, std::vector<float>(100, 2));
}

Task<> refuse_native(World& world) {
  const Group group = Group::all(world);
  std::vector<float> values(10);
  const Floats floats{values.data(), values.size()};
  co_await all_reduce(world, group, floats, ReduceOptions{.algorithm = Algorithm::native});
}

TEST(AllReduce, NativeIsRefusedWhereTheWorldHasNone) {
  LocalCluster cluster(2);
  EXPECT_THROW(run_all(cluster, refuse_native), RequestError);
  EXPECT_THROW(slices_of({.slices = 17}, Group::on_hosts({0, 0}), 10), RequestError);
}

Task<> scatter_and_gather(World& world, const Group& group, size_t elements, bool as_bf16,
                          std::vector<std::vector<float>>& results) {
  const int member = group.index_of(world.rank());
  const int n = group.size();
  std::vector<float>& values = results[static_cast<size_t>(member)];
  values = values_of(member, elements);
  const Floats floats{values.data(), elements};
  ReduceOptions options{.as_bf16 = as_bf16};
  options.tag.purpose = world::Purpose::reduce_scatter;
  co_await reduce_scatter(world, group, floats, options);
  const Sums expected = sums_of(n, elements);
  const Range mine = chunk_of(elements, n, member);
  for (size_t i = mine.first; i < mine.end(); ++i) {
    EXPECT_NEAR(values[i], expected.sum[i], n * unit(as_bf16) * expected.magnitude[i] * 1.01);
  }
  options.tag.purpose = world::Purpose::all_gather;
  co_await all_gather(world, group, floats, options);
}

TEST(ReduceScatterAndAllGather, MakeAnAllReduceTogether) {
  for (const bool as_bf16 : {false, true}) {
    for (const int n : {1, 2, 3, 4, 7, 8}) {
      for (const size_t elements : awkward_sizes(n)) {
        const Group group = Group::on_hosts(std::vector<int>(n, 0));
        std::vector<std::vector<float>> results(static_cast<size_t>(n));
        LocalCluster cluster(n);
        run_all(cluster, [&](World& world) {
          return scatter_and_gather(world, group, elements, as_bf16, results);
        });
        for (const auto& result : results) EXPECT_EQ(result, results[0]) << n << " " << elements;
      }
    }
  }
}

Task<> reduce_to(World& world, int root, std::vector<std::vector<float>>& results) {
  const Group group = Group::all(world);
  std::vector<float>& values = results[world.rank()];
  values = values_of(world.rank(), 1000);
  const Floats floats{values.data(), values.size()};
  co_await reduce(world, group, floats, root, ReduceOptions{});
}

TEST(Reduce, GivesTheRootTheSum) {
  for (const int root : {0, 3}) {
    std::vector<std::vector<float>> results(5);
    LocalCluster cluster(5);
    run_all(cluster, [&](World& world) { return reduce_to(world, root, results); });
    const Sums expected = sums_of(5, 1000);
    for (size_t i = 0; i < 1000; ++i) {
      ASSERT_NEAR(results[root][i], expected.sum[i], 1e-6 * expected.magnitude[i]);
    }
  }
}

TEST(Bf16, RoundsToTheNearestAndTiesToEven) {
  // 1 + 2^-7 is the next bf16 after 1.
  const std::vector<float> values = {1.0F,
                                     1.0F + 0x1p-8F,              // a tie: down to even
                                     1.0F + 0x1p-7F + 0x1p-8F,    // a tie: up to even
                                     1.0F + 0x1p-8F + 0x1p-20F,   // just above
                                     -1.0F - 0x1p-8F - 0x1p-20F,  // and below zero
                                     0.0F,
                                     -0.0F,
                                     0x1p-133F,      // denormal
                                     3.4028235e38F,  // past the largest
                                     INFINITY,
                                     std::nanf("1")};
  const std::vector<uint16_t> expected = {0x3f80, 0x3f80, 0x3f82, 0x3f81, 0xbf81,
                                          0x0000, 0x8000, 0x0001, 0x7f80, 0x7f80};
  std::vector<uint16_t> rounded(values.size());
  round_to_bf16(values.data(), rounded.data(), values.size());
  EXPECT_EQ(std::vector<uint16_t>(rounded.begin(), rounded.end() - 1), expected);
  EXPECT_GT(rounded.back() & 0x7fff, 0x7f80);
  std::vector<float> in_place = values;
  round_as_bf16(in_place.data(), in_place.size());
  EXPECT_EQ(in_place[3], 1.0F + 0x1p-7F);
  EXPECT_TRUE(std::isnan(in_place.back()));
}

}  // namespace
}  // namespace syrtos::collective
