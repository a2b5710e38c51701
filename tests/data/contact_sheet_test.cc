#include "syrtos/data/contact_sheet.h"

#include <gtest/gtest.h>

#include "syrtos/data/sets/table.h"

namespace syrtos::data {
namespace {

int64_t count_colour(const Canvas& canvas, Colour wanted) {
  int64_t count = 0;
  for (size_t i = 0; i < canvas.pixels().size(); i += 3) {
    count += canvas.pixels()[i] == wanted.red && canvas.pixels()[i + 1] == wanted.green &&
             canvas.pixels()[i + 2] == wanted.blue;
  }
  return count;
}

// Samples of one colour per class.
Table plain(int64_t side, int64_t per_class) {
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
  return {{.name = "plain", .channels = 3, .height = side, .width = side, .classes = {"no", "yes"}},
          values,
          labels};
}

TEST(ContactSheet, small_pictures_are_enlarged_by_a_whole_factor) {
  const Canvas canvas = contact_sheet(plain(8, 3));
  EXPECT_EQ(count_colour(canvas, {200, 0, 10}), 3 * 64 * 64);
  EXPECT_EQ(count_colour(canvas, {200, 100, 10}), 3 * 64 * 64);
}

TEST(ContactSheet, large_pictures_are_fitted_and_at_most_ten_are_shown) {
  const Canvas canvas = contact_sheet(plain(300, 12));
  EXPECT_EQ(count_colour(canvas, {200, 0, 10}), 10 * 96 * 96);
}

TEST(ContactSheet, signals_become_lines) {
  const std::vector<float> floats = {0, 1, 2, 3, 2, 1, 0, 5};
  const auto* bytes = reinterpret_cast<const uint8_t*>(floats.data());
  const Table table({.name = "signals",
                     .dtype = DType::f32,
                     .channels = 1,
                     .height = 1,
                     .width = 8,
                     .classes = {"up"}},
                    {bytes, bytes + floats.size() * sizeof(float)}, {0});
  EXPECT_GT(count_colour(contact_sheet(table), {31, 119, 180}), 100);
}

TEST(Canvas, letters_have_their_shape_and_the_edge_cuts) {
  Canvas canvas(10, 12, {0, 0, 0});
  canvas.text(0, 0, "L", {9, 9, 9}, 1);
  EXPECT_EQ(count_colour(canvas, {9, 9, 9}), 7 + 4);
  canvas.text(-3, 9, "##", {8, 8, 8}, 2);
  EXPECT_GT(count_colour(canvas, {8, 8, 8}), 0);
  EXPECT_EQ(Canvas::text_width("ab", 2), 22);
}

}  // namespace
}  // namespace syrtos::data
