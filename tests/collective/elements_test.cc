// All-reduces of every element type by every reduction, algorithm and number of members. The values
// are small whole numbers, of which every type holds every result exactly: so there is one right
// answer, whatever the order.

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "syrtos/collective/collective.h"
#include "syrtos/world/local/local.h"
#include "tests/collective/simulation.h"

namespace syrtos::collective {
namespace {

using world::LocalCluster;
using world::Task;
using world::World;

constexpr Algorithm kAlgorithms[] = {Algorithm::ring, Algorithm::halving_doubling,
                                     Algorithm::doubling, Algorithm::tree, Algorithm::hierarchical};
constexpr Reduction kReductions[] = {Reduction::sum, Reduction::min, Reduction::max};

using Memory = std::vector<std::byte>;

void put(Memory& memory, Element element, size_t i, int value) {
  const auto write = [&](auto number) {
    std::memcpy(memory.data() + i * sizeof(number), &number, sizeof(number));
  };
  switch (element) {
    case Element::f32:
      return write(static_cast<float>(value));
    case Element::f64:
      return write(static_cast<double>(value));
    case Element::i64:
      return write(static_cast<int64_t>(value));
    case Element::bf16:
      return write(static_cast<uint16_t>(std::bit_cast<uint32_t>(static_cast<float>(value)) >> 16));
  }
}

/// From -7 to 7: seventeen of them come to less than 2^7, which bf16 still holds.
int value_of(int member, size_t element) {
  return static_cast<int>(word(member, element) % 15) - 7;
}

Memory memory_of(Element element, size_t elements, auto value) {
  Memory memory(elements * world::bytes_of(element));
  for (size_t i = 0; i < elements; ++i) put(memory, element, i, value(i));
  return memory;
}

int expected(Reduction reduction, int members, size_t element) {
  int result = value_of(0, element);
  for (int member = 1; member < members; ++member) {
    const int value = value_of(member, element);
    result = reduction == Reduction::sum   ? result + value
             : reduction == Reduction::min ? std::min(result, value)
                                           : std::max(result, value);
  }
  return result;
}

Task<> reduce_one(World& world, const Group& group, Element element, size_t elements,
                  ReduceOptions options, std::vector<Memory>& results) {
  Memory& memory = results[static_cast<size_t>(world.rank())];
  memory = memory_of(element, elements, [&](size_t i) { return value_of(world.rank(), i); });
  const world::Traffic before = world.traffic();
  co_await all_reduce(world, group, Values(memory.data(), elements, element), options);
  const Cost cost = cost_of(options, world.rank(), group, elements, element);
  EXPECT_EQ(world.traffic().bytes_sent - before.bytes_sent, cost.bytes_sent);
}

class Elements : public testing::TestWithParam<Element> {};

TEST_P(Elements, AreReducedInEveryWayByEveryAlgorithmAndNumberOfMembers) {
  const Element element = GetParam();
  for (const Algorithm algorithm : kAlgorithms) {
    for (const Reduction reduction : kReductions) {
      for (const int n : {1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 17}) {
        for (const size_t elements : {1, 3, 17, 1001}) {
          SCOPED_TRACE(testing::Message()
                       << to_string(algorithm) << ", " << world::to_string(reduction) << ", " << n
                       << " members, " << elements << " elements");
          std::vector<int> host;
          for (int member = 0; member < n; ++member) host.push_back(member / 3);
          const Group group = Group::on_hosts(host);
          LocalCluster cluster(n);
          std::vector<Memory> results(static_cast<size_t>(n));
          const ReduceOptions options{.algorithm = algorithm, .reduction = reduction};
          run_all(cluster, [&](World& world) {
            return reduce_one(world, group, element, elements, options, results);
          });
          const Memory right =
              memory_of(element, elements, [&](size_t i) { return expected(reduction, n, i); });
          for (const Memory& result : results) ASSERT_EQ(result, right);
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, Elements,
                         testing::Values(Element::f32, Element::bf16, Element::f64, Element::i64),
                         [](const auto& info) { return std::string(to_string(info.param)); });

/// Of two numbers that are equal or cannot be compared, all members end with the same bits.
TEST(Elements, ZerosAndWhatIsNoNumberGiveTheSameBitsEverywhere) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<std::vector<float>> values = {{0.0F, -0.0F, 1.0F, nan, 2.0F},
                                                  {-0.0F, 0.0F, nan, 1.0F, 3.0F},
                                                  {0.0F, 0.0F, 5.0F, 5.0F, -4.0F}};
  const Group group = Group::on_hosts({0, 0, 0});
  for (const Algorithm algorithm : kAlgorithms) {
    for (const Reduction reduction : {Reduction::min, Reduction::max}) {
      auto results = values;
      LocalCluster cluster(3);
      run_all(cluster, [&](World& world) {
        auto& mine = results[static_cast<size_t>(world.rank())];
        return all_reduce(world, group, Floats{mine.data(), mine.size()},
                          {.algorithm = algorithm, .reduction = reduction});
      });
      for (const auto& result : results) {
        EXPECT_EQ(std::memcmp(result.data(), results[0].data(), result.size() * sizeof(float)), 0);
      }
      const bool least = reduction == Reduction::min;
      EXPECT_EQ(std::signbit(results[0][0]), least);
      EXPECT_TRUE(std::isnan(results[0][2]) && std::isnan(results[0][3]));
      EXPECT_EQ(results[0][4], least ? -4.0F : 3.0F);
    }
  }
}

}  // namespace
}  // namespace syrtos::collective
