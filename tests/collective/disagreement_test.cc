// Ranks that do not do the same, or end: always a named error, never a wait without end.

#include <gmock/gmock.h>

#include "syrtos/collective/collective.h"
#include "syrtos/world/local/local.h"
#include "syrtos/world/started.h"

namespace syrtos::collective {
namespace {

using world::DeadlinePassed;
using world::LocalCluster;
using world::Mismatch;
using world::PeerLost;
using world::Started;
using world::Task;
using world::World;

constexpr Algorithm kAlgorithms[] = {Algorithm::ring, Algorithm::halving_doubling,
                                     Algorithm::doubling, Algorithm::tree, Algorithm::hierarchical};

std::string text_of(const std::exception_ptr& error) {
  if (!error) return "";
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& e) {
    return e.what();
  }
}

template <typename Error>
bool is_a(const std::exception_ptr& error) {
  if (!error) return false;
  try {
    std::rethrow_exception(error);
  } catch (const Error&) {
    return true;
  } catch (...) {
    return false;
  }
}

struct Call {
  size_t elements;
  ReduceOptions options;
};

/// One after the other.
Task<> reduce_all(World& world, const Group& group, std::vector<Call> calls) {
  for (const Call& call : calls) {
    std::vector<float> values(call.elements, 1.0F);
    const Floats floats{values.data(), values.size()};
    co_await all_reduce(world, group, floats, call.options);
  }
}

/// Rank 1 makes other calls than the rest; returns what each rank threw.
std::vector<std::exception_ptr> errors_of(const std::vector<Call>& calls,
                                          const std::vector<Call>& other) {
  const Group group = Group::on_hosts({0, 0, 1, 1});
  LocalCluster cluster(4);
  return cluster.run(
      [&](World& world) { return reduce_all(world, group, world.rank() == 1 ? other : calls); });
}

template <typename Error>
testing::AssertionResult somebody_throws(const std::vector<std::exception_ptr>& errors) {
  std::string texts;
  bool found = false;
  for (const std::exception_ptr& error : errors) {
    // Nothing but what worlds throw.
    if (error && !is_a<Mismatch>(error) && !is_a<PeerLost>(error) && !is_a<DeadlinePassed>(error)) {
      return testing::AssertionFailure() << text_of(error);
    }
    found = found || is_a<Error>(error);
    texts += text_of(error) + "\n";
  }
  return found ? testing::AssertionSuccess() : testing::AssertionFailure() << texts;
}

Call call(Algorithm algorithm, size_t elements = 1000, uint32_t round = 0, uint16_t item = 0) {
  Call made{elements, {.algorithm = algorithm}};
  made.options.tag.round = round;
  made.options.tag.item = item;
  return made;
}

TEST(Disagreement, OfSizesIsFound) {
  for (const Algorithm algorithm : kAlgorithms) {
    for (const size_t other : {1, 999, 1001, 2000}) {
      const auto errors = errors_of({call(algorithm)}, {call(algorithm, other)});
      EXPECT_TRUE(somebody_throws<Mismatch>(errors)) << to_string(algorithm) << " " << other;
    }
  }
}

TEST(Disagreement, OfRoundsIsFoundAndNamed) {
  for (const Algorithm algorithm : kAlgorithms) {
    const auto errors = errors_of({call(algorithm, 1000, 17)}, {call(algorithm, 1000, 18)});
    EXPECT_TRUE(somebody_throws<Mismatch>(errors)) << to_string(algorithm);
    std::string texts;
    for (const auto& error : errors) texts += text_of(error);
    EXPECT_THAT(texts, testing::HasSubstr("round 17"));
    EXPECT_THAT(texts, testing::HasSubstr("round 18"));
  }
}

TEST(Disagreement, OfTheWireIsFound) {
  for (const Algorithm algorithm : kAlgorithms) {
    Call other = call(algorithm);
    other.options.as_bf16 = true;
    EXPECT_TRUE(somebody_throws<Mismatch>(errors_of({call(algorithm)}, {other})));
  }
}

TEST(Disagreement, OfAlgorithmsEndsWithAnError) {
  for (const Algorithm algorithm : kAlgorithms) {
    for (const Algorithm other : kAlgorithms) {
      if (other == algorithm) continue;
      const auto errors = errors_of({call(algorithm)}, {call(other)});
      EXPECT_TRUE(somebody_throws<RunError>(errors))
          << to_string(algorithm) << " and " << to_string(other);
    }
  }
}

TEST(Disagreement, OfTheOrderOfBucketsEndsWithAnError) {
  for (const Algorithm algorithm : kAlgorithms) {
    const Call first = call(algorithm, 1000, 0, 1);
    const Call second = call(algorithm, 1000, 0, 2);
    const auto errors = errors_of({first, second}, {second, first});
    EXPECT_TRUE(somebody_throws<DeadlinePassed>(errors)) << to_string(algorithm);
  }
}

TEST(Disagreement, OfTheNumberOfSlicesEndsWithAnError) {
  Call other = call(Algorithm::ring);
  other.options.slices = 2;
  EXPECT_TRUE(somebody_throws<Mismatch>(errors_of({call(Algorithm::ring)}, {other})));
}

TEST(Disagreement, ARankThatDoesNotComeIsNamed) {
  for (const Algorithm algorithm : kAlgorithms) {
    const auto errors = errors_of({call(algorithm)}, {});
    EXPECT_TRUE(somebody_throws<PeerLost>(errors)) << to_string(algorithm);
    for (const size_t rank : {0, 2, 3}) EXPECT_TRUE(errors[rank]) << to_string(algorithm);
    EXPECT_THAT(text_of(errors[0]), testing::HasSubstr("rank 1"));
  }
}

/// The send fails while the receive waits for a rank that never comes this far.
Task<> lose_the_next(World& world, const Group& group) {
  if (world.rank() == 1) co_return;
  const world::Tag over{world::Purpose::control, 1};
  if (world.rank() == 2) {
    co_await world.recv(0, over, world::Target{});
    co_return;
  }
  std::vector<float> values(99, 1.0F);
  const Floats floats{values.data(), values.size()};
  bool lost = false;
  try {
    co_await all_reduce(world, group, floats, ReduceOptions{.algorithm = Algorithm::ring});
  } catch (const PeerLost& error) {
    lost = error.rank() == 1;
  }
  EXPECT_TRUE(lost);
  co_await world.send(2, over, world::Source{});
}

TEST(Disagreement, ALostNeighbourIsFoundWhileTheOtherOneIsAwaited) {
  const Group group = Group::on_hosts({0, 0, 0});
  LocalCluster cluster(3);
  run_all(cluster, [&](World& world) { return lose_the_next(world, group); });
}

Task<> abandon_one(World& world, const Group& group) {
  std::vector<float> abandoned(1000, 1.0F);
  const Floats never{abandoned.data(), abandoned.size()};
  ReduceOptions options{.algorithm = Algorithm::ring, .slices = 2};
  if (world.rank() == 0) {
    Started waiting(world, all_reduce(world, group, never, options));
    EXPECT_FALSE(waiting.done());
  }
  options.tag.item = 1;
  std::vector<float> values(1000, static_cast<float>(world.rank() + 1));
  const Floats floats{values.data(), values.size()};
  co_await all_reduce(world, group, floats, options);
  EXPECT_EQ(values, std::vector<float>(1000, 6.0F));
}

TEST(Disagreement, AnAbandonedAllReduceLeavesNothingBehind) {
  const Group group = Group::on_hosts({0, 0, 0});
  LocalCluster cluster(3);
  run_all(cluster, [&](World& world) { return abandon_one(world, group); });
}

}  // namespace
}  // namespace syrtos::collective
