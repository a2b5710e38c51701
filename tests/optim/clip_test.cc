#include "syrtos/optim/clip.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "syrtos/base/parallel.h"

namespace syrtos::optim {
namespace {

TEST(Clip, NormIsTheRootOfTheSumOfSquares) {
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  for (const size_t n : {size_t{0}, size_t{1}, size_t{31}, size_t{65536}, size_t{200003}}) {
    std::vector<float> values(n);
    double sum = 0;
    for (float& value : values) {
      value = normal(random);
      sum += static_cast<double>(value) * value;
    }
    GlobalNorm norm(n);
    EXPECT_NEAR(norm(values), std::sqrt(sum), 1e-9 * (1 + std::sqrt(sum))) << n;
  }
}

TEST(Clip, NormDoesNotDependOnTheNumberOfThreads) {
  std::vector<float> values(1000003);
  for (size_t i = 0; i < values.size(); ++i) values[i] = std::sin(static_cast<float>(i));
  GlobalNorm norm(values.size());
  const auto with = [&](int threads) {
    const ThreadScope scope(threads);
    return norm(values);
  };
  EXPECT_EQ(with(1), with(2));
}

TEST(Clip, ScalesDownToTheLimitAndNeverUp) {
  EXPECT_DOUBLE_EQ(clip_scale(10, 5), 0.5);
  EXPECT_DOUBLE_EQ(clip_scale(4, 5), 1);
  EXPECT_DOUBLE_EQ(clip_scale(0, 5), 1);
}

}  // namespace
}  // namespace syrtos::optim
