// Rotation, scale, colours and rectangles that are blanked out.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <set>

#include "syrtos/base/error.h"
#include "syrtos/data/pipeline/colours.h"
#include "syrtos/data/pipeline/transform.h"
#include "syrtos/data/pipeline/warp.h"

namespace syrtos::data {
namespace {

constexpr int64_t kSide = 9;

Sample floats_of(const std::vector<float>& values, int64_t height, int64_t width) {
  return {.values = values.data(),
          .dtype = DType::f32,
          .channels = 1,
          .height = height,
          .width = width};
}

TEST(Warps, OfAQuarterTurnMoveEveryPixel) {
  std::vector<uint8_t> values;
  for (int64_t i = 0; i < kSide * kSide * 3; ++i) {
    values.push_back(static_cast<uint8_t>(37 * i + 11));
  }
  const Sample sample{.values = values.data(), .channels = 3, .height = kSide, .width = kSide};
  Scratch scratch;
  const Sample turned = warped(sample, {.angle = std::numbers::pi / 2}, scratch);
  for (int64_t y = 0; y < kSide; ++y) {
    for (int64_t x = 0; x < kSide; ++x) {
      for (int64_t c = 0; c < 3; ++c) {
        // Clockwise: what was on the left is above.
        const int64_t from = ((kSide - 1 - x) * kSide + y) * 3 + c;
        EXPECT_EQ(turned.bytes()[(y * kSide + x) * 3 + c], values[static_cast<size_t>(from)]);
      }
    }
  }
}

// Between the pixels of a plane interpolation is exact, so the turned one is known.
TEST(Warps, TurnAndScaleAPlaneAroundItsMiddle) {
  constexpr int64_t kHeight = 11;
  constexpr int64_t kWidth = 15;
  std::vector<float> values;
  for (int64_t i = 0; i < kHeight * kWidth; ++i) {
    values.push_back(static_cast<float>(3 * (i / kWidth) - 2 * (i % kWidth) + 100));
  }
  const Warp warp{.angle = 0.3, .scale = 1.7};
  Scratch scratch;
  const Sample result = warped(floats_of(values, kHeight, kWidth), warp, scratch);
  int inside = 0;
  for (int64_t i = 0; i < kHeight * kWidth; ++i) {
    // Turned back and made smaller, as a complex number.
    const double dy = static_cast<double>(i / kWidth) - 5;
    const double dx = static_cast<double>(i % kWidth) - 7;
    const double far = std::hypot(dx, dy) / warp.scale;
    const double to = std::atan2(dy, dx) - warp.angle;
    const double y = 5 + far * std::sin(to);
    const double x = 7 + far * std::cos(to);
    if (y < 0 || y > kHeight - 1 || x < 0 || x > kWidth - 1) continue;
    ++inside;
    EXPECT_NEAR(result.floats()[i], 3 * y - 2 * x + 100, 1e-3) << i;
  }
  EXPECT_GT(inside, 100);
}

TEST(Warps, StayWithinWhatWasAskedFor) {
  const Augment augment = parse_augment("rotate:30,scale:0.5:2");
  double least = 10;
  double most = 0;
  double left = 0;
  for (int64_t n = 0; n < 2000; ++n) {
    const Warp warp = place_warp(augment, {1, 0, n});
    EXPECT_LE(std::abs(warp.angle), std::numbers::pi / 6);
    left = std::min(left, warp.angle);
    least = std::min(least, warp.scale);
    most = std::max(most, warp.scale);
  }
  EXPECT_LT(left, -0.5);
  EXPECT_NEAR(least, 0.5, 0.01);
  EXPECT_NEAR(most, 2, 0.01);
}

std::vector<int> changed(const ColourChange& change, std::vector<uint8_t> pixels,
                         int64_t channels = 3) {
  change_colours(change, std::ssize(pixels) / channels, channels, pixels.data());
  return {pixels.begin(), pixels.end()};
}

TEST(Colours, FollowTheirDefinitions) {
  EXPECT_EQ(changed({.brightness = 2}, {10, 100, 200}), (std::vector{20, 200, 255}));
  EXPECT_EQ(changed({.brightness = 0.5F}, {10, 100}, 1), (std::vector{5, 50}));
  // Around the mean of the greys, 50.
  EXPECT_EQ(changed({.contrast = 0}, {20, 80}, 1), (std::vector{50, 50}));
  EXPECT_EQ(changed({.contrast = 1.5F}, {20, 80}, 1), (std::vector{5, 95}));
  EXPECT_EQ(changed({.brightness = 0.5F, .contrast = 2}, {40, 160}, 1), (std::vector{0, 110}));
  // 0.299 * 200 + 0.587 * 100 + 0.114 * 50 = 124.2.
  EXPECT_EQ(changed({.saturation = 0}, {200, 100, 50}), (std::vector{124, 124, 124}));
  EXPECT_EQ(changed({.saturation = 0.5F}, {200, 100, 50}), (std::vector{162, 112, 87}));
  EXPECT_EQ(changed({.hue = 1 / 3.0F}, {200, 100, 50}), (std::vector{50, 200, 100}));
  EXPECT_EQ(changed({.hue = -1 / 3.0F}, {200, 100, 50}), (std::vector{100, 50, 200}));
  EXPECT_EQ(changed({.hue = 0.5F}, {255, 0, 0}), (std::vector{0, 255, 255}));
  EXPECT_EQ(changed({.hue = 0.3F}, {7, 7, 7}), (std::vector{7, 7, 7}));
  EXPECT_EQ(changed({.brightness = 2, .hue = 0.5F}, {1, 2, 3, 4}, 4), (std::vector{1, 2, 3, 4}));
}

TEST(Colours, AreDrawnAroundWhatTheyAre) {
  const Augment augment = parse_augment("colour:0.4,hue:0.1");
  double sum = 0;
  for (int64_t n = 0; n < 4000; ++n) {
    const ColourChange change = place_colours(augment, {1, 0, n});
    for (const float factor : {change.brightness, change.contrast, change.saturation}) {
      EXPECT_GE(factor, 0.6F);
      EXPECT_LE(factor, 1.4F);
    }
    EXPECT_LE(std::abs(change.hue), 0.1F);
    sum += change.brightness + change.hue;
  }
  EXPECT_NEAR(sum / 4000, 1, 0.02);
}

TEST(Erasing, BlanksRectanglesOfSomeSamples) {
  const Augment augment = parse_augment("erase:0.25");
  int erased = 0;
  std::set<int64_t> places;
  for (int64_t n = 0; n < 4000; ++n) {
    const Placement p = place(augment, {1, 0, n}, 32, 24);
    if (p.cut_height == 0) continue;
    ++erased;
    places.insert(p.cut_top);
    EXPECT_GE(p.cut_top, 0);
    EXPECT_LE(p.cut_top + p.cut_height, 32);
    EXPECT_GE(p.cut_left, 0);
    EXPECT_LE(p.cut_left + p.cut_width, 24);
    const double share = static_cast<double>(p.cut_height * p.cut_width) / (32 * 24);
    EXPECT_GT(share, 0.01);  // of whole pixels
    EXPECT_LT(share, 0.36);
  }
  EXPECT_NEAR(erased, 1000, 140);
  EXPECT_GT(places.size(), 20U);
}

// Bytes and floats, with everything at once: the same as its parts one after the other.
TEST(Variations, AreAppliedInTheirOrder) {
  const Augment augment = parse_augment("crop:1,flip,flip:vertical,rotate:20,colour:0.5,cutout:2");
  std::vector<uint8_t> values;
  for (int64_t i = 0; i < kSide * kSide * 3; ++i) {
    values.push_back(static_cast<uint8_t>(37 * i + 11));
  }
  const DatasetInfo info{.channels = 3, .height = kSide, .width = kSide};
  const Shape shape = {3, kSide, kSide};
  const Sample sample{.values = values.data(), .channels = 3, .height = kSide, .width = kSide};
  const Transform all(info, shape, {{0}, {1}}, augment, DType::f32);
  const Transform plain(info, shape, {{0}, {1}}, {}, DType::f32);
  std::vector<float> result(values.size());
  std::vector<float> expected(values.size());
  for (int64_t n = 0; n < 20; ++n) {
    const SampleKey key{4, 2, n};
    Scratch scratch;
    all.apply(sample, key, result.data(), scratch);
    Placement placement = place(augment, key, kSide, kSide);
    Placement blank = placement;
    placement.cut_height = 0;
    blank.down = blank.right = 0;
    blank.flip = blank.upside_down = false;
    plain.apply(warped(sample, place_warp(augment, key), scratch), placement, expected.data(),
                scratch);
    std::vector<uint8_t> bytes(expected.begin(), expected.end());
    change_colours(place_colours(augment, key), kSide * kSide, 3, bytes.data());
    plain.apply({.values = bytes.data(), .channels = 3, .height = kSide, .width = kSide}, blank,
                expected.data(), scratch);
    EXPECT_EQ(result, expected) << n;
  }
}

TEST(VariationText, IsReadAndWritten) {
  for (const char* text :
       {"flip,flip:vertical", "scale:0.8:1.2,rotate:15", "brightness:0.4,hue:0.1,erase:0.25",
        "mixup:0.2,cutmix:1", "scale:0.5:0.5"}) {
    EXPECT_EQ(to_string(parse_augment(text)), text);
  }
  EXPECT_EQ(to_string(parse_augment("color:0.4")), "brightness:0.4,contrast:0.4,saturation:0.4");
  for (const char* text :
       {"rotate", "rotate:200", "rotate:-3", "scale:0.8", "scale:1.2:0.8", "scale:0:1", "colour:2",
        "hue:0.6", "erase:1.5", "mixup:-1", "cutmix", "cutout:8,erase:0.5", "mixup:nan"}) {
    EXPECT_THROW(parse_augment(text), RequestError) << text;
  }
}

}  // namespace
}  // namespace syrtos::data
