#include "syrtos/data/pictures/resize.h"

#include <gtest/gtest.h>

#include <cmath>

#include "syrtos/base/error.h"
#include "syrtos/base/philox.h"
#include "syrtos/data/sets/resized.h"
#include "syrtos/data/sets/table.h"

namespace syrtos::data {
namespace {

std::vector<uint8_t> noise(int64_t count, uint32_t seed) {
  std::vector<uint8_t> values(static_cast<size_t>(count));
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<uint8_t>(philox({seed, 0}, {static_cast<uint32_t>(i), 0, 0, 0})[0]);
  }
  return values;
}

/// The definition: each pixel is the mean of the source under a triangle as wide as the scale.
double reference(const std::vector<uint8_t>& src, int64_t height, int64_t width, int64_t channels,
                 const Window& window, int64_t out_height, int64_t out_width, int64_t y, int64_t x,
                 int64_t c) {
  const auto weight = [](double start, double length, int64_t out, int64_t p, int64_t i) {
    const double scale = length / static_cast<double>(out);
    const double center = start + (static_cast<double>(p) + 0.5) * scale;
    return std::max(0.0,
                    1 - std::abs(static_cast<double>(i) + 0.5 - center) / std::max(scale, 1.0));
  };
  double sum = 0, total = 0;
  for (int64_t i = 0; i < height; ++i) {
    const double row = weight(window.top, window.height, out_height, y, i);
    if (row == 0) continue;
    for (int64_t j = 0; j < width; ++j) {
      const double w = row * weight(window.left, window.width, out_width, x, j);
      sum += w * src[static_cast<size_t>((i * width + j) * channels + c)];
      total += w;
    }
  }
  return sum / total;
}

struct Case {
  int64_t height, width, channels, out_height, out_width;
  Window window;
};

TEST(Resize, AgreesWithTheDefinitionInDouble) {
  ResizeScratch scratch;
  for (const Case& c : {
           Case{32, 32, 3, 8, 8, {0, 0, 32, 32}},
           Case{7, 5, 1, 20, 30, {0, 0, 7, 5}},
           Case{50, 37, 3, 22, 22, {6.5, 0.25, 37.5, 36.5}},
           Case{40, 60, 4, 13, 7, {0, 3.3, 40, 41.1}},
           Case{1, 1, 3, 4, 4, {0, 0, 1, 1}},
           Case{200, 3, 2, 2, 9, {0, 0, 200, 3}},
           Case{20, 20, 3, 20, 20, {5.2, 5.7, 0.4, 0.1}},
       }) {
    const auto src = noise(c.height * c.width * c.channels, 5);
    std::vector<uint8_t> dst(static_cast<size_t>(c.out_height * c.out_width * c.channels));
    resize(src.data(), c.height, c.width, c.channels, c.window, dst.data(), c.out_height,
           c.out_width, scratch);
    for (int64_t i = 0; i < static_cast<int64_t>(dst.size()); ++i) {
      const int64_t pixel = i / c.channels;
      const double expected =
          reference(src, c.height, c.width, c.channels, c.window, c.out_height, c.out_width,
                    pixel / c.out_width, pixel % c.out_width, i % c.channels);
      ASSERT_NEAR(dst[static_cast<size_t>(i)], expected, 0.6) << c.height << " " << i;
    }
  }
}

TEST(Resize, ToTheSameSizeChangesNothing) {
  ResizeScratch scratch;
  const auto src = noise(31 * 17 * 3, 1);
  std::vector<uint8_t> dst(src.size());
  resize(src.data(), 31, 17, 3, {0, 0, 31, 17}, dst.data(), 31, 17, scratch);
  EXPECT_EQ(dst, src);
  // Nor does a window at whole pixels.
  resize(src.data(), 31, 17, 3, {4, 2, 10, 10}, dst.data(), 10, 10, scratch);
  for (size_t x = 0; x < 30; ++x) EXPECT_EQ(dst[x], src[(4 * 17 + 2) * 3 + x]);
}

TEST(Resize, KeepsOneColourExactly) {
  ResizeScratch scratch;
  for (const int value : {0, 1, 127, 254, 255}) {
    const std::vector<uint8_t> src(97 * 301, static_cast<uint8_t>(value));
    std::vector<uint8_t> dst(13 * 224);
    resize(src.data(), 97, 301, 1, {0.3, 0.7, 96.1, 300.2}, dst.data(), 13, 224, scratch);
    for (const uint8_t v : dst) ASSERT_EQ(v, value);
  }
}

TEST(Resize, RefusesAWindowOutsideThePicture) {
  ResizeScratch scratch;
  const std::vector<uint8_t> src(100);
  std::vector<uint8_t> dst(4);
  for (const Window& window : {Window{-1, 0, 5, 5}, Window{0, 6, 5, 5}, Window{0, 0, 0, 5}}) {
    EXPECT_THROW(resize(src.data(), 10, 10, 1, window, dst.data(), 2, 2, scratch), InternalError);
  }
}

TEST(FitWindow, IsTheMiddleAtSevenEighths) {
  // 256 wide at 320x256, of which 224x224 are left.
  const Window window = fit_window(Fit::centre, 320, 256, 224, 224);
  EXPECT_DOUBLE_EQ(window.top, 48);
  EXPECT_DOUBLE_EQ(window.left, 16);
  EXPECT_DOUBLE_EQ(window.height, 224);
  EXPECT_DOUBLE_EQ(window.width, 224);
  const Window wide = fit_window(Fit::centre, 100, 100, 50, 100);
  EXPECT_DOUBLE_EQ(wide.width, 87.5);
  EXPECT_DOUBLE_EQ(wide.height, 43.75);
  const Window all = fit_window(Fit::exact, 320, 256, 10, 10);
  EXPECT_DOUBLE_EQ(all.height, 320);
  EXPECT_DOUBLE_EQ(all.width, 256);
}

std::unique_ptr<Dataset> pictures(DType dtype) {
  DatasetInfo info{.name = "p", .dtype = dtype, .channels = 3, .height = 16, .width = 8};
  info.classes = {"a", "b"};
  const auto bytes = static_cast<int64_t>(2 * 3 * 16 * 8 * size_of(dtype));
  return std::make_unique<Table>(info, noise(bytes, 3), std::vector<int32_t>{1, 0});
}

TEST(Resized, HasSamplesOfTheWantedSize) {
  const Resized set(pictures(DType::u8), 4, 6, Fit::exact);
  EXPECT_EQ(set.info().shape(), Shape({3, 4, 6}));
  Scratch scratch;
  const Sample sample = set.read(1, scratch);
  EXPECT_EQ(sample.height, 4);
  EXPECT_EQ(sample.width, 6);
  EXPECT_EQ(sample.target.label, 0);
  EXPECT_EQ(set.label(0), 1);
  const auto source = pictures(DType::u8);
  Scratch other;
  const Sample original = source->read(1, other);
  std::vector<uint8_t> expected(72);
  ResizeScratch resizing;
  resize(original.bytes(), 16, 8, 3, {0, 0, 16, 8}, expected.data(), 4, 6, resizing);
  EXPECT_TRUE(std::equal(expected.begin(), expected.end(), sample.bytes()));
}

TEST(Resized, RefusesWhatIsNoPicture) {
  EXPECT_THROW(Resized(pictures(DType::f32), 4, 4), RequestError);
}

}  // namespace
}  // namespace syrtos::data
