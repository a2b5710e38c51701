#include "syrtos/data/contact_sheet.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdlib>

#include "syrtos/data/sets/table.h"

namespace syrtos::data {
namespace {

using Rgb = std::array<int, 3>;

/// How many pixels of the picture's part from column `left` on differ from the colour by at most
/// `tolerance` in each channel.
int64_t count_colour(const Picture& picture, Rgb wanted, int tolerance = 0, int64_t left = 0) {
  int64_t count = 0;
  for (size_t i = 0; i < picture.pixels.size(); i += 3) {
    if (static_cast<int64_t>(i / 3) % picture.width < left) continue;
    bool same = true;
    for (size_t c = 0; c < 3; ++c) {
      same = same && std::abs(picture.pixels[i + c] - wanted[c]) <= tolerance;
    }
    count += same ? 1 : 0;
  }
  return count;
}

// Samples of one colour per class.
Table plain(int64_t side, int64_t per_class, const std::string& first = "no") {
  std::vector<uint8_t> values;
  std::vector<int32_t> labels;
  for (int64_t i = 0; i < 2 * per_class; ++i) {
    labels.push_back(static_cast<int32_t>(i % 2));
    for (int64_t p = 0; p < side * side; ++p) {
      for (const int value : {200, static_cast<int>(i % 2) * 100, 10}) {
        values.push_back(static_cast<uint8_t>(value));
      }
    }
  }
  return {
      {.name = "plain", .channels = 3, .height = side, .width = side, .classes = {first, "yes"}},
      values,
      labels};
}

TEST(ContactSheet, SmallPicturesAreEnlargedByAWholeFactor) {
  const Picture sheet = contact_sheet(plain(8, 3));
  EXPECT_EQ(count_colour(sheet, {200, 0, 10}), 3 * 64 * 64);
  EXPECT_EQ(count_colour(sheet, {200, 100, 10}), 3 * 64 * 64);
}

TEST(ContactSheet, LargePicturesAreFittedAndAtMostTenAreShown) {
  const Picture sheet = contact_sheet(plain(300, 12));
  EXPECT_EQ(count_colour(sheet, {200, 0, 10}), 10 * 96 * 96);
}

TEST(ContactSheet, FittedPicturesAreMeansOfWhatTheyStandFor) {
  std::vector<uint8_t> values;
  for (int64_t y = 0; y < 384; ++y) {
    for (int64_t x = 0; x < 384; ++x) values.push_back(static_cast<uint8_t>((x + y) % 2 * 200));
  }
  const Table table({.channels = 1, .height = 384, .width = 384, .classes = {"a"}}, values, {0});
  EXPECT_GE(count_colour(contact_sheet(table), {100, 100, 100}, 4), 94 * 94);
}

TEST(ContactSheet, SignalsBecomeLines) {
  const std::vector<float> floats = {0, 1, 2, 3, 2, 1, 0, 5};
  const auto* bytes = reinterpret_cast<const uint8_t*>(floats.data());
  const Table table({.name = "signals",
                     .dtype = DType::f32,
                     .channels = 1,
                     .height = 1,
                     .width = 8,
                     .classes = {"up"}},
                    {bytes, bytes + floats.size() * sizeof(float)}, {0});
  EXPECT_GT(count_colour(contact_sheet(table), {31, 119, 180}, 60), 100);
}

TEST(ContactSheet, FloatsOfTwoDimensionsArePictures) {
  std::vector<float> floats(64, -1);
  for (size_t i = 0; i < 32; ++i) floats[i] = 3;
  const auto* bytes = reinterpret_cast<const uint8_t*>(floats.data());
  const Table table({.name = "digits",
                     .dtype = DType::f32,
                     .channels = 1,
                     .height = 8,
                     .width = 8,
                     .classes = {"half"}},
                    {bytes, bytes + floats.size() * sizeof(float)}, {0});
  const Picture sheet = contact_sheet(table);
  EXPECT_EQ(count_colour(sheet, {0, 0, 0}), 64 * 32);
  EXPECT_EQ(count_colour(sheet, {255, 255, 255}), 64 * 32);
}

TEST(ContactSheet, NamesOfOtherScriptsTakeOnePlacePerCharacter) {
  // A character of two bytes is as wide as its like of one byte: the sheet has the same width.
  EXPECT_EQ(contact_sheet(plain(8, 10, "éééééééé")).width,
            contact_sheet(plain(8, 10, "eeeeeeee")).width);
  EXPECT_GT(contact_sheet(plain(8, 10, "eeeeeeeee")).width,
            contact_sheet(plain(8, 10, "eeeeeeee")).width);
}

TEST(ContactSheet, LongNamesAreCutBetweenCharacters) {
  std::string name;
  for (int i = 0; i < 24; ++i) name += "é";
  const int64_t longest = contact_sheet(plain(8, 10, name)).width;
  EXPECT_LE(contact_sheet(plain(8, 10, name + "é")).width, longest + 8);
  EXPECT_EQ(contact_sheet(plain(8, 10, name + "éé")).width,
            contact_sheet(plain(8, 10, name + "é")).width);
}

TEST(ContactSheet, NamesThatAreNoUtf8AreDrawn) {
  EXPECT_GT(count_colour(contact_sheet(plain(8, 3, "caf\xe9")), {40, 44, 52}, 60), 20);
}

}  // namespace
}  // namespace syrtos::data
