#include "syrtos/data/pipeline/transform.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "syrtos/base/error.h"

namespace syrtos::data {
namespace {

constexpr int64_t kHeight = 6;
constexpr int64_t kWidth = 5;
const Normalization kNormalization = {{10, 20, 30}, {2, 4, 8}};

DatasetInfo info(DType dtype = DType::u8, int64_t channels = 3) {
  return {.dtype = dtype, .channels = channels, .height = kHeight, .width = kWidth};
}

std::vector<uint8_t> picture(int64_t channels = 3) {
  std::vector<uint8_t> values;
  for (int64_t i = 0; i < kHeight * kWidth * channels; ++i) {
    values.push_back(static_cast<uint8_t>(37 * i + 11));
  }
  return values;
}

Sample sample_of(const std::vector<uint8_t>& values, int64_t channels = 3) {
  return {.values = values.data(), .channels = channels, .height = kHeight, .width = kWidth};
}

/// The definition: pixel by pixel.
float expected(const std::vector<uint8_t>& values, const Placement& p, int64_t y, int64_t x,
               int64_t c) {
  if (y >= p.cut_top && y < p.cut_top + p.cut_height && x >= p.cut_left &&
      x < p.cut_left + p.cut_width) {
    return 0;
  }
  int64_t from_y = (p.upside_down ? kHeight - 1 - y : y) + p.down;
  int64_t from_x = (p.flip ? kWidth - 1 - x : x) + p.right;
  float value = 0;
  const auto outside = [](int64_t i, int64_t n) { return i < 0 || i >= n; };
  const auto mirrored = [](int64_t i, int64_t n) {
    return i < 0 ? -i : i >= n ? 2 * n - 2 - i : i;
  };
  if (p.beyond == Beyond::reflected) {
    from_y = mirrored(from_y, kHeight);
    from_x = mirrored(from_x, kWidth);
  }
  if (p.beyond == Beyond::nearest) {
    from_y = std::clamp<int64_t>(from_y, 0, kHeight - 1);
    from_x = std::clamp<int64_t>(from_x, 0, kWidth - 1);
  }
  if (!outside(from_y, kHeight) && !outside(from_x, kWidth)) {
    value = values[static_cast<size_t>((from_y * kWidth + from_x) * 3 + c)];
  }
  const auto channel = static_cast<size_t>(c);
  return (value - kNormalization.mean[channel]) / kNormalization.deviation[channel];
}

class Placements : public testing::TestWithParam<Placement> {};

TEST_P(Placements, PutEveryPixelWhereTheDefinitionSays) {
  const std::vector<uint8_t> values = picture();
  std::vector<float> floats(values.begin(), values.end());
  Sample as_floats = sample_of(values);
  as_floats.values = floats.data();
  as_floats.dtype = DType::f32;
  Scratch scratch;
  for (const Sample& sample : {sample_of(values), as_floats}) {
    const Transform transform(info(sample.dtype), {3, kHeight, kWidth}, kNormalization, {},
                              DType::f32);
    const Transform rounded(info(sample.dtype), {3, kHeight, kWidth}, kNormalization, {},
                            DType::bf16);
    std::vector<float> result(values.size());
    std::vector<BFloat16> result_bf16(values.size());
    transform.apply(sample, GetParam(), result.data(), scratch);
    rounded.apply(sample, GetParam(), result_bf16.data(), scratch);
    for (int64_t i = 0; i < kHeight * kWidth * 3; ++i) {
      const float right = expected(values, GetParam(), i / 3 / kWidth, i / 3 % kWidth, i % 3);
      const auto at = static_cast<size_t>(i);
      EXPECT_NEAR(result[at], right, 1e-4) << i;
      EXPECT_EQ(result_bf16[at].bits, BFloat16(result[at]).bits) << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, Placements,
    testing::Values(Placement{}, Placement{.flip = true}, Placement{.down = 2, .right = -1},
                    Placement{.down = -2, .right = 3, .flip = true},
                    Placement{.down = -2, .right = 2, .beyond = Beyond::reflected},
                    Placement{.down = 1, .right = -2, .beyond = Beyond::reflected, .flip = true},
                    Placement{.right = 4, .beyond = Beyond::nearest},
                    Placement{.right = -4, .beyond = Beyond::nearest, .flip = true},
                    Placement{.down = 7, .right = 9},
                    Placement{.cut_top = -1, .cut_left = 3, .cut_height = 3, .cut_width = 4},
                    Placement{
                        .flip = true, .cut_top = 4, .cut_left = 1, .cut_height = 2, .cut_width = 1},
                    Placement{.upside_down = true},
                    Placement{.down = 1, .right = -2, .flip = true, .upside_down = true}));

TEST(Augmentation, IsAFunctionOfSeedEpochAndSampleAlone) {
  const Augment augment = parse_augment("crop:2,flip,cutout:2");
  const std::vector<uint8_t> values = picture();
  const Transform transform(info(), {3, kHeight, kWidth}, kNormalization, augment, DType::f32);
  const auto apply = [&](SampleKey key) {
    Scratch scratch;
    std::vector<float> result(values.size());
    transform.apply(sample_of(values), key, result.data(), scratch);
    return result;
  };
  std::set<std::vector<float>> seen;
  for (int64_t epoch = 0; epoch < 3; ++epoch) {
    for (int64_t sample = 0; sample < 50; ++sample) {
      const SampleKey key{1, epoch, sample};
      EXPECT_EQ(apply(key), apply(key));
      seen.insert(apply(key));
    }
  }
  EXPECT_GT(seen.size(), 100U);
  EXPECT_NE(apply({1, 0, 0}), apply({2, 0, 0}));
}

TEST(Crops, AreSpreadEvenlyOverAllPositions) {
  const Augment augment = parse_augment("crop:2");
  std::vector<int> down(5);
  std::vector<int> right(5);
  constexpr int kDraws = 10000;
  for (int n = 0; n < kDraws; ++n) {
    const Placement p = place(augment, {3, 1, n}, kHeight, kWidth);
    ++down.at(static_cast<size_t>(p.down + 2));
    ++right.at(static_cast<size_t>(p.right + 2));
  }
  // Within five standard deviations of a fifth.
  for (const int count : down) EXPECT_NEAR(count, kDraws / 5, 200);
  for (const int count : right) EXPECT_NEAR(count, kDraws / 5, 200);
}

TEST(Flips, HalfOfTheSamplesAndInTheAlternatingFormEverySecondEpoch) {
  int random = 0;
  int first = 0;
  for (int64_t n = 0; n < 10000; ++n) {
    random += place(parse_augment("flip"), {3, 5, n}, kHeight, kWidth).flip ? 1 : 0;
    const Augment alternating = parse_augment("flip:alternate");
    const bool flip = place(alternating, {3, 0, n}, kHeight, kWidth).flip;
    first += flip ? 1 : 0;
    EXPECT_NE(place(alternating, {3, 1, n}, kHeight, kWidth).flip, flip);
    EXPECT_EQ(place(alternating, {3, 2, n}, kHeight, kWidth).flip, flip);
  }
  EXPECT_NEAR(random, 5000, 250);
  EXPECT_NEAR(first, 5000, 250);
}

TEST(Noise, HasTheDeviationThatWasAskedFor) {
  const DatasetInfo signal = {.dtype = DType::f32, .channels = 1, .height = 1, .width = 20001};
  const std::vector<float> zeros(20001, 5.0F);
  const Transform transform(signal, {1, 1, 20001}, {{5}, {2}}, parse_augment("noise:0.5"),
                            DType::f32);
  std::vector<float> result(20001);
  Scratch scratch;
  transform.apply(
      {.values = zeros.data(), .dtype = DType::f32, .channels = 1, .height = 1, .width = 20001},
      SampleKey{1, 2, 3}, result.data(), scratch);
  double sum = 0;
  double squares = 0;
  for (const float value : result) {
    sum += value;
    squares += static_cast<double>(value) * value;
  }
  EXPECT_NEAR(sum / 20001, 0, 0.02);
  EXPECT_NEAR(std::sqrt(squares / 20001), 0.5, 0.015);
}

TEST(AugmentText, IsReadAndWritten) {
  for (const char* text : {"none", "crop:4", "crop:2:reflect,flip:alternate,cutout:8",
                           "resized-crop:0.35,flip", "shift:8,noise:0.1"}) {
    EXPECT_EQ(to_string(parse_augment(text)), text);
  }
  EXPECT_EQ(to_string(parse_augment(" crop:4 , flip ")), "crop:4,flip");
  for (const char* text : {"crop", "crop:x", "crop:-1", "crop:1.5", "flop", "flip:2", "cutout",
                           "noise:-1", "crop:4,", "crop:2,shift:3", "crop:4:mirror"}) {
    EXPECT_THROW(parse_augment(text), RequestError) << text;
  }
}

}  // namespace
}  // namespace syrtos::data
