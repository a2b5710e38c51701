#include "syrtos/data/pipeline/mixing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "syrtos/data/pipeline/loader.h"
#include "syrtos/data/pipeline/permutation.h"
#include "syrtos/data/sets/random_data.h"

namespace syrtos::data {
namespace {

constexpr int64_t kSamples = 30;
constexpr int64_t kClasses = 5;
const Shape kShape = {3, 8, 6};

TEST(Mixup, TakesSharesOfABetaDistribution) {
  for (const double strength : {0.2, 1.0, 4.0}) {
    const Augment augment{.mixup = strength};
    double sum = 0;
    double squares = 0;
    constexpr int kDraws = 20000;
    for (int64_t n = 0; n < kDraws; ++n) {
      const double share = place_mix(augment, {1, 0, n}, 8, 8).share;
      EXPECT_GE(share, 0);
      EXPECT_LE(share, 1);
      sum += share;
      squares += (share - 0.5) * (share - 0.5);
    }
    EXPECT_NEAR(sum / kDraws, 0.5, 0.02) << strength;
    EXPECT_NEAR(squares / kDraws, 1 / (4 * (2 * strength + 1)), 0.005) << strength;
  }
}

TEST(Cutmix, CountsThePixelsThatItTook) {
  const Augment augment{.cutmix = 1};
  double mean = 0;
  for (int64_t n = 0; n < 2000; ++n) {
    const Mix how = place_mix(augment, {1, 0, n}, 8, 6);
    std::vector<float> sample(8 * 6 * 3, 1.0F);
    const std::vector<float> other(8 * 6 * 3, 0.0F);
    mix(how, {8, 6, 3, DType::f32}, other.data(), sample.data());
    const auto kept = std::count(sample.begin(), sample.end(), 1.0F);
    EXPECT_NEAR(static_cast<double>(kept) / (8 * 6 * 3), how.share, 1e-9);
    mean += how.share / 2000;
  }
  EXPECT_GT(mean, 0.5);  // what lies beyond the edges is not taken
  EXPECT_LT(mean, 0.8);
}

TEST(Mixing, WithBothTakesEachForHalfOfTheSamples) {
  const Augment augment{.mixup = 1, .cutmix = 1};
  int cut = 0;
  for (int64_t n = 0; n < 4000; ++n) {
    const Mix how = place_mix(augment, {1, 0, n}, 100, 100);
    cut += how.height > 0 ? 1 : 0;
  }
  EXPECT_NEAR(cut, 2000, 200);
}

/// Images and targets of an epoch, by the sample's place in it.
struct Taken {
  std::map<int64_t, std::vector<float>> images;
  std::map<int64_t, std::vector<float>> targets;
};

template <typename T>
Taken take_epoch(const Dataset& data, const Augment& augment, LoaderOptions options, DType dtype) {
  const Transform transform(data.info(), kShape, {{0}, {1}}, augment, dtype);
  Loader loader(data, transform, options);
  loader.seek(3, 0);
  Taken taken;
  const auto each = static_cast<size_t>(std::max<int64_t>(1, options.shares_of));
  for (;;) {
    const Batch batch = loader.next();
    if (batch.epoch != 3) return taken;
    for (int64_t n = 0; n < batch.slice.count; ++n) {
      const auto* image = static_cast<const T*>(batch.images) + n * kShape.elements();
      std::vector<float>& values = taken.images[batch.slice.first + n];
      for (int64_t i = 0; i < kShape.elements(); ++i)
        values.push_back(static_cast<float>(image[i]));
      const auto targets = batch.targets.subspan(static_cast<size_t>(n) * each, each);
      taken.targets[batch.slice.first + n] = {targets.begin(), targets.end()};
    }
  }
}

TEST(Mixing, BlendsEachSampleWithTheNextOfTheEpoch) {
  const RandomDataset data(kSamples, kShape, kClasses, 1);
  Augment augment = parse_augment("crop:1,flip");
  const Taken apart = take_epoch<float>(data, augment, {.batch = 8}, DType::f32);
  augment.mixup = 1;
  const Taken mixed =
      take_epoch<float>(data, augment, {.batch = 8, .shares_of = kClasses}, DType::f32);
  const Permutation order(kSamples, 1, 3);
  ASSERT_EQ(mixed.images.size(), static_cast<size_t>(kSamples));
  for (int64_t n = 0; n < kSamples; ++n) {
    const int64_t next = (n + 1) % kSamples;
    const double share = place_mix(augment, {1, 3, order[n]}, kShape[1], kShape[2]).share;
    std::vector<double> classes(kClasses);
    classes.at(static_cast<size_t>(apart.targets.at(n)[0])) += share;
    classes.at(static_cast<size_t>(apart.targets.at(next)[0])) += 1 - share;
    for (size_t k = 0; k < classes.size(); ++k) {
      EXPECT_NEAR(mixed.targets.at(n)[k], classes[k], 1e-6);
    }
    for (size_t i = 0; i < static_cast<size_t>(kShape.elements()); ++i) {
      EXPECT_NEAR(mixed.images.at(n)[i],
                  share * apart.images.at(n)[i] + (1 - share) * apart.images.at(next)[i], 1e-3);
    }
  }
}

TEST(Mixing, IsTheSameForAnyBatchAndAnyWorkers) {
  const RandomDataset data(kSamples, kShape, kClasses, 1);
  const Augment augment = parse_augment("mixup:0.4,cutmix:1,rotate:20");
  const Taken alone =
      take_epoch<BFloat16>(data, augment, {.batch = 8, .shares_of = kClasses}, DType::bf16);
  Taken together;
  for (int worker = 0; worker < 3; ++worker) {
    const LoaderOptions options{.batch = 12, .shard = {worker, 3}, .shares_of = kClasses};
    Taken part = take_epoch<BFloat16>(data, augment, options, DType::bf16);
    together.images.merge(part.images);
    together.targets.merge(part.targets);
  }
  EXPECT_EQ(together.images, alone.images);
  EXPECT_EQ(together.targets, alone.targets);
}

}  // namespace
}  // namespace syrtos::data
