#pragma once

// What every world must do, as tests (conformance_test.cc) over any maker of clusters: include this
// and instantiate
//   INSTANTIATE_TEST_SUITE_P(Local, WorldConformance, testing::Values(WorldKind{...}));

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "syrtos/world/cluster.h"
#include "syrtos/world/started.h"

namespace syrtos::world {

struct WorldKind {
  std::string name;
  std::function<std::unique_ptr<Cluster>(int ranks)> make;
  bool survives_losses = true;  ///< ranks go on when another one ends (MPI ends them all)
};

inline std::ostream& operator<<(std::ostream& out, const WorldKind& kind) {
  return out << kind.name;
}

class WorldConformance : public testing::TestWithParam<WorldKind> {
 protected:
  std::vector<std::exception_ptr> run(int ranks, const RankProgram& program) {
    return GetParam().make(ranks)->run(program);
  }
  void run_well(int ranks, const RankProgram& program) {
    const auto cluster = GetParam().make(ranks);
    run_all(*cluster, program);
  }
};

inline std::string text_of(const std::exception_ptr& error) {
  if (!error) return "";
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& e) {
    return e.what();
  }
}

template <typename T>
bool is_a(const std::exception_ptr& error) {
  if (!error) return false;
  try {
    std::rethrow_exception(error);
  } catch (const T&) {
    return true;
  } catch (...) {
    return false;
  }
}

constexpr Tag test_tag(uint16_t item = 0, uint32_t round = 0) {
  return {Purpose::control, item, round};
}

template <typename T>
Source source_of(const std::vector<T>& values) {
  return {values.data(), values.size() * sizeof(T)};
}
template <typename T>
Target target_of(std::vector<T>& values, Landing landing = Landing::kStore) {
  return {values.data(), values.size() * sizeof(T), landing};
}

inline std::vector<float> ramp(size_t n, float first) {
  std::vector<float> values(n);
  std::iota(values.begin(), values.end(), first);
  return values;
}

// Tasks are functions, never lambdas with captures: these are what the tests below run.

inline Task<> send_values(World& world, Rank to, Tag tag, std::vector<float> values,
                          int priority = 0) {
  co_await world.send(to, tag, source_of(values), priority);
}

inline Task<> expect_values(World& world, Rank from, Tag tag, std::vector<float> expected) {
  std::vector<float> got(expected.size());
  co_await world.recv(from, tag, target_of(got));
  EXPECT_EQ(got, expected) << world.name(world.rank()) << " from " << from;
}

inline Task<> pass_around(World& world, size_t elements, int rounds) {
  const Rank next = (world.rank() + 1) % world.size();
  const Rank previous = (world.rank() + world.size() - 1) % world.size();
  for (int round = 0; round < rounds; ++round) {
    const Tag tag = test_tag(1, static_cast<uint32_t>(round));
    const auto seed = static_cast<float>(round);
    Started sending(world, send_values(world, next, tag,
                                       ramp(elements, seed + static_cast<float>(world.rank()))));
    co_await expect_values(world, previous, tag,
                           ramp(elements, seed + static_cast<float>(previous)));
    co_await sending.join();
  }
}

inline Task<> keep_order(World& world) {
  constexpr int kMessages = 50;
  if (world.rank() == 0) {
    std::vector<Started> sends;
    for (int i = 0; i < kMessages; ++i) {
      // Alternately small and large: large ones must not be overtaken within their lane.
      const size_t elements = i % 2 == 0 ? 200'000 : 1;
      sends.emplace_back(world, send_values(world, 1, test_tag(0, static_cast<uint32_t>(i)),
                                            ramp(elements, static_cast<float>(i))));
    }
    co_await join_all(world, sends);
  } else {
    for (int i = 0; i < kMessages; ++i) {
      const size_t elements = i % 2 == 0 ? 200'000 : 1;
      co_await expect_values(world, 0, test_tag(0, static_cast<uint32_t>(i)),
                             ramp(elements, static_cast<float>(i)));
    }
  }
}

inline Task<> cross_lanes(World& world) {
  if (world.rank() == 0) {
    std::vector<Started> sends;
    for (uint16_t lane = 0; lane < 8; ++lane) {
      sends.emplace_back(world, send_values(world, 1, test_tag(lane), ramp(100'000, lane), lane));
    }
    co_await join_all(world, sends);
  } else {
    for (uint16_t lane = 0; lane < 8; ++lane) {
      const auto other = static_cast<uint16_t>(7 - lane);
      co_await expect_values(world, 0, test_tag(other), ramp(100'000, other));
    }
  }
}

inline Task<> land_in_every_way(World& world) {
  const std::vector<float> wide = ramp(1001, 1);
  const std::vector<uint16_t> half(1001, 0x4000);  // 2.0 in bf16
  if (world.rank() == 0) {
    co_await world.send(1, test_tag(0), source_of(wide));
    co_await world.send(1, test_tag(1), source_of(half));
    co_await world.send(1, test_tag(2), source_of(half));
  } else {
    std::vector<float> sum(1001, 0.5F);
    co_await world.recv(0, test_tag(0), target_of(sum, Landing::kAdd));
    std::vector<float> expected = ramp(1001, 1.5F);
    EXPECT_EQ(sum, expected);
    co_await world.recv(0, test_tag(1), {sum.data(), 2 * sum.size(), Landing::kWidenAdd});
    expected = ramp(1001, 3.5F);
    EXPECT_EQ(sum, expected);
    co_await world.recv(0, test_tag(2), {sum.data(), 2 * sum.size(), Landing::kWiden});
    EXPECT_EQ(sum, std::vector<float>(1001, 2.0F));
  }
}

/// Of so many elements that they come in several pieces.
template <typename T>
Task<> reduce_elements(World& world, Element element, Reduction reduction, uint32_t round) {
  constexpr size_t kElements = 200'001;
  const auto value_of = [](int rank, size_t i) {
    return static_cast<T>(static_cast<int>((i * 7 + static_cast<size_t>(rank) * 3) % 11) - 5);
  };
  std::vector<T> values(kElements);
  for (size_t i = 0; i < kElements; ++i) values[i] = value_of(world.rank(), i);
  if (world.rank() == 0) {
    co_await world.send(1, test_tag(0, round), source_of(values));
  } else {
    const Target target = target_of(values, Landing::reduce(element, reduction));
    co_await world.recv(0, test_tag(0, round), target);
    size_t wrong = 0;
    for (size_t i = 0; i < kElements; ++i) {
      const T a = value_of(0, i);
      const T b = value_of(1, i);
      const T right = reduction == Reduction::sum   ? a + b
                      : reduction == Reduction::min ? std::min(a, b)
                                                    : std::max(a, b);
      wrong += values[i] == right ? 0 : 1;
    }
    EXPECT_EQ(wrong, 0U) << to_string(element) << " " << to_string(reduction);
  }
}

inline Task<> reduce_in_every_way(World& world) {
  uint32_t round = 0;
  for (const Reduction reduction : {Reduction::sum, Reduction::min, Reduction::max}) {
    co_await reduce_elements<float>(world, Element::f32, reduction, round++);
    co_await reduce_elements<double>(world, Element::f64, reduction, round++);
    co_await reduce_elements<int64_t>(world, Element::i64, reduction, round++);
  }
}

inline Task<> send_other_size(World& world) {
  if (world.rank() == 0) {
    co_await send_values(world, 1, test_tag(3, 7), ramp(10, 0));
    co_await expect_values(world, 1, test_tag(4), ramp(1, 0));
  } else {
    co_await expect_values(world, 0, test_tag(3, 7), ramp(11, 0));
  }
}

inline Task<> send_other_round(World& world) {
  if (world.rank() == 0) {
    co_await send_values(world, 1, test_tag(3, 7), ramp(10, 0));
    co_await expect_values(world, 1, test_tag(4), ramp(1, 0));
  } else {
    co_await expect_values(world, 0, test_tag(3, 8), ramp(10, 0));
  }
}

inline Task<> fail_on_rank_1(World& world) {
  if (world.rank() == 1) {
    co_await send_values(world, 0, test_tag(0), ramp(5, 1));
    co_await send_values(world, 2, test_tag(0), ramp(5, 1));
    fail_run("on purpose");
  }
  // What was sent before the end arrives; nothing else does.
  co_await expect_values(world, 1, test_tag(0), ramp(5, 1));
  std::vector<float> never(4);
  co_await world.recv(1, test_tag(1), target_of(never));
}

inline Task<> go_on_without_rank_1(World& world) {
  if (world.rank() == 1) fail_run("on purpose");
  std::vector<float> never(4);
  bool lost = false;
  try {
    co_await world.recv(1, test_tag(1), target_of(never));
  } catch (const PeerLost& error) {
    lost = error.rank() == 1;
  }
  EXPECT_TRUE(lost);
  EXPECT_TRUE(world.is_lost(1));
  const Rank other = 2 - world.rank();
  Started sending(world, send_values(world, other, test_tag(2), ramp(100'000, 1)));
  co_await expect_values(world, other, test_tag(2), ramp(100'000, 1));
  co_await sending.join();
}

inline Task<> receive_in_vain(World& world, Rank from) {
  std::vector<float> never(1000);
  co_await world.recv(from, test_tag(9), target_of(never));
}

inline Task<> cancel_a_wait(World& world) {
  const Rank other = 1 - world.rank();
  {
    Started waiting(world, receive_in_vain(world, other));
    EXPECT_FALSE(waiting.done());
  }
  co_await pass_around(world, 1000, 2);
}

inline Task<> wait_too_long(World& world) {
  if (world.rank() == 1) {
    std::vector<float> go(1);
    co_await world.recv(0, test_tag(1), target_of(go));
    co_return;
  }
  world.set_deadline(0.05);
  bool passed = false;
  std::string text;
  try {
    co_await receive_in_vain(world, 1);
  } catch (const DeadlinePassed& error) {
    passed = true;
    text = error.what();
  }
  EXPECT_TRUE(passed);
  EXPECT_NE(text.find("control message 9"), std::string::npos) << text;
  EXPECT_NE(text.find("rank 1"), std::string::npos) << text;
  world.set_deadline(60);
  co_await send_values(world, 1, test_tag(1), ramp(1, 0));
}

inline Task<> sleep_then_note(World& world, double seconds, int id, std::vector<int>& order) {
  co_await world.sleep(seconds);
  order.push_back(id);
}

inline Task<> sleep_in_order(World& world) {
  std::vector<int> order;
  const double start = world.now();
  {
    std::vector<Started> sleepers;
    sleepers.emplace_back(world, sleep_then_note(world, 0.03, 3, order));
    sleepers.emplace_back(world, sleep_then_note(world, 0.01, 1, order));
    sleepers.emplace_back(world, sleep_then_note(world, 0.02, 2, order));
    co_await join_all(world, sleepers);
  }
  EXPECT_EQ(order, (std::vector<int>{1, 2, 3}));
  EXPECT_GE(world.now() - start, 0.03);
}

inline Task<> compute_something(World& world) {
  int done = 0;
  for (const Where where : {Where::pool, Where::here}) {
    co_await world.compute(
        0.001, [&] { ++done; }, where);
    bool thrown = false;
    try {
      co_await world.compute(
          0.001, [] { fail_run("of the work"); }, where);
    } catch (const RunError& error) {
      thrown = std::string(error.what()) == "of the work";
    }
    EXPECT_TRUE(thrown);
  }
  EXPECT_EQ(done, 2);
}

inline Task<> count_traffic(World& world) {
  co_await pass_around(world, 250, 4);
  EXPECT_EQ(world.traffic().messages_sent, 4U);
  EXPECT_EQ(world.traffic().messages_received, 4U);
  EXPECT_EQ(world.traffic().bytes_sent, 4000U);
  EXPECT_EQ(world.traffic().bytes_received, 4000U);
}

}  // namespace syrtos::world
