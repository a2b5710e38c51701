#include "syrtos/data/pipeline/permutation.h"

#include <gtest/gtest.h>

#include <vector>

#include "syrtos/data/sets/random_data.h"

namespace syrtos::data {
namespace {

std::vector<int64_t> order(int64_t size, uint64_t seed, int64_t epoch) {
  const Permutation permutation(size, seed, epoch);
  std::vector<int64_t> result;
  for (int64_t i = 0; i < size; ++i) result.push_back(permutation[i]);
  return result;
}

TEST(Permutation, HasEverySampleOnce) {
  for (const int64_t size : {1, 2, 3, 5, 16, 17, 1000, 60000}) {
    std::vector<int> seen(static_cast<size_t>(size));
    for (const int64_t sample : order(size, 42, 3)) ++seen[static_cast<size_t>(sample)];
    for (const int count : seen) ASSERT_EQ(count, 1) << size;
  }
}

TEST(Permutation, DependsOnSeedAndEpochAlone) {
  EXPECT_EQ(order(1000, 1, 2), order(1000, 1, 2));
  EXPECT_NE(order(1000, 1, 2), order(1000, 1, 3));
  EXPECT_NE(order(1000, 1, 2), order(1000, 2, 2));
  EXPECT_NE(order(1000, 1, 2), order(1000, 1 + (uint64_t{1} << 32), 2));
}

TEST(Permutation, Mixes) {
  // Neighbours end far apart and every place is about equally likely for a sample.
  constexpr int64_t kSize = 100;
  std::vector<int> places(kSize);
  for (int64_t epoch = 0; epoch < 2000; ++epoch) {
    ++places[static_cast<size_t>(Permutation(kSize, 9, epoch)[17])];
  }
  double chi = 0;
  for (const int count : places) chi += (count - 20.0) * (count - 20.0) / 20.0;
  EXPECT_LT(chi, 180);  // 99 degrees of freedom: far beyond 1 in a million
  EXPECT_GT(chi, 45);
  const auto shuffled = order(60000, 5, 0);
  double distance = 0;
  for (size_t i = 1; i < shuffled.size(); ++i) {
    distance += std::abs(static_cast<double>(shuffled[i] - shuffled[i - 1]));
  }
  EXPECT_NEAR(distance / 59999, 20000, 300);
}

TEST(RandomDataset, SamplesDependOnSeedAndIndexAlone) {
  const RandomDataset set(100, {3, 5, 5}, 10, 7);
  const auto values = [&](int64_t index) {
    Scratch scratch;
    const Sample sample = set.read(index, scratch);
    return std::vector<float>(sample.floats(), sample.floats() + sample.elements());
  };
  EXPECT_EQ(values(3), values(3));
  EXPECT_NE(values(3), values(4));
}

TEST(RandomDataset, HasMeanZeroVarianceOneAndEveryClass) {
  const RandomDataset set(1000, {1, 8, 8}, 4, 7);
  std::vector<float> images;
  std::vector<int32_t> labels;
  Scratch scratch;
  for (int64_t n = 0; n < 1000; ++n) {
    const Sample sample = set.read(n, scratch);
    images.insert(images.end(), sample.floats(), sample.floats() + 64);
    labels.push_back(sample.target.label);
  }
  double sum = 0, squares = 0;
  for (const float v : images) {
    sum += v;
    squares += static_cast<double>(v) * v;
  }
  EXPECT_NEAR(sum / 64000, 0, 0.02);
  EXPECT_NEAR(squares / 64000, 1, 0.02);
  std::vector<int> counts(4);
  for (const int32_t label : labels) ++counts.at(static_cast<size_t>(label));
  for (const int count : counts) EXPECT_NEAR(count, 250, 60);
}

}  // namespace
}  // namespace syrtos::data
