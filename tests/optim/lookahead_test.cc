#include "syrtos/optim/lookahead.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "syrtos/base/error.h"
#include "syrtos/base/parallel.h"

namespace syrtos::optim {
namespace {

std::vector<float> wave(size_t n, double phase) {
  std::vector<float> values(n);
  for (size_t i = 0; i < n; ++i) {
    values[i] = static_cast<float>(std::sin(0.37 * static_cast<double>(i) + phase));
  }
  return values;
}

TEST(Lookahead, MovesSlowWeightsTowardsFastOnesAndLetsTheseStartThere) {
  constexpr size_t kCount = 3001;
  Lookahead lookahead({}, kCount);
  const std::vector<float> first = wave(kCount, 0);
  const std::vector<float> trained = wave(kCount, 1);
  lookahead.start(first);
  std::vector<float> fast = trained;
  std::vector<BFloat16> working(kCount);
  lookahead.update(fast, working, 0.7);
  for (size_t i = 0; i < kCount; ++i) {
    const double expected = 0.7 * first[i] + 0.3 * trained[i];
    ASSERT_NEAR(fast[i], expected, 2e-7) << i;
    ASSERT_EQ(fast[i], lookahead.slow()[i]) << i;
    ASSERT_EQ(working[i].bits, BFloat16(fast[i]).bits) << i;
  }
}

TEST(Lookahead, EndsWithTheSlowWeightsAndLeavesEqualOnesAlone) {
  constexpr size_t kCount = 100;
  Lookahead lookahead({}, kCount);
  const std::vector<float> first = wave(kCount, 0);
  lookahead.start(first);
  std::vector<float> fast = wave(kCount, 1);
  lookahead.update(fast, {}, 1);
  EXPECT_EQ(fast, first);
  lookahead.update(fast, {}, 0.3);
  EXPECT_EQ(fast, first);
}

TEST(Lookahead, MeetsEveryFewStepsWithADecayThatGrowsWithTheCubeOfTheRun) {
  const Lookahead lookahead({.every = 5, .decay = 0.95}, 1);
  EXPECT_FALSE(lookahead.due(0));
  EXPECT_FALSE(lookahead.due(4));
  EXPECT_TRUE(lookahead.due(5));
  EXPECT_TRUE(lookahead.due(10));
  EXPECT_NEAR(lookahead.decay(100, 100), std::pow(0.95, 5), 1e-12);
  EXPECT_NEAR(lookahead.decay(50, 100), std::pow(0.95, 5) / 8, 1e-12);
  EXPECT_EQ(lookahead.decay(0, 100), 0);
}

TEST(Lookahead, GivesTheSameBitsForAnyNumberOfThreads) {
  constexpr size_t kCount = 200003;
  std::vector<std::vector<float>> results;
  for (const int threads : {1, 2, 3}) {
    const ThreadScope scope(threads);
    Lookahead lookahead({}, kCount);
    lookahead.start(wave(kCount, 0));
    std::vector<float> fast = wave(kCount, 1);
    lookahead.update(fast, {}, 0.6);
    results.push_back(fast);
  }
  EXPECT_EQ(results[0], results[1]);
  EXPECT_EQ(results[0], results[2]);
}

TEST(Lookahead, RefusesOptionsOutsideOfTheirRange) {
  EXPECT_THROW(Lookahead({.every = 0}, 1), RequestError);
  EXPECT_THROW(Lookahead({.decay = 1.5}, 1), RequestError);
}

}  // namespace
}  // namespace syrtos::optim
