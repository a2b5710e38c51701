#include "syrtos/data/contact_sheet.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "syrtos/base/format.h"

namespace syrtos::data {

namespace {

constexpr Colour kPaper = {250, 250, 248};
constexpr Colour kTile = {236, 236, 232};  // around pictures that do not fill their place
constexpr Colour kInk = {40, 44, 52};
constexpr Colour kFaint = {140, 144, 150};
constexpr std::array<Colour, 4> kLines = {
    {{31, 119, 180}, {214, 102, 20}, {44, 140, 60}, {170, 50, 110}}};
constexpr int64_t kScale = 2;      // of letters
constexpr int64_t kMargin = 24;    // around everything
constexpr int64_t kGap = 6;        // between pictures
constexpr int64_t kFitted = 96;    // pixels of a large picture's longer side
constexpr int64_t kEnlarged = 64;  // small pictures are enlarged up to this
constexpr int64_t kPlotHeight = 64;
constexpr int64_t kPlotWidth = 128;
constexpr size_t kLongestName = 24;

struct Tile {
  int64_t height;
  int64_t width;
};

Tile tile_of(const DatasetInfo& info) {
  if (info.dtype != DType::u8) return {kPlotHeight, kPlotWidth};
  const int64_t longer = std::max(info.height, info.width);
  if (!info.same_size() || longer > kFitted) return {kFitted, kFitted};
  const int64_t factor = std::max<int64_t>(1, kEnlarged / longer);
  return {info.height * factor, info.width * factor};
}

Colour colour_of(const Sample& sample, int64_t y, int64_t x) {
  const uint8_t* pixel = sample.bytes() + (y * sample.width + x) * sample.channels;
  if (sample.channels < 3) return {pixel[0], pixel[0], pixel[0]};
  return {pixel[0], pixel[1], pixel[2]};
}

// The mean colour of the part of a picture that one drawn pixel stands for.
Colour mean_colour(const Sample& sample, int64_t y0, int64_t y1, int64_t x0, int64_t x1) {
  int64_t red = 0;
  int64_t green = 0;
  int64_t blue = 0;
  for (int64_t y = y0; y < y1; ++y) {
    for (int64_t x = x0; x < x1; ++x) {
      const Colour colour = colour_of(sample, y, x);
      red += colour.red;
      green += colour.green;
      blue += colour.blue;
    }
  }
  const int64_t n = (y1 - y0) * (x1 - x0);
  const auto mean = [n](int64_t sum) { return static_cast<uint8_t>((sum + n / 2) / n); };
  return {mean(red), mean(green), mean(blue)};
}

void draw_picture(Canvas& canvas, int64_t top, int64_t left, const Tile& tile,
                  const Sample& sample) {
  const double scale =
      std::min(static_cast<double>(tile.height) / static_cast<double>(sample.height),
               static_cast<double>(tile.width) / static_cast<double>(sample.width));
  const auto drawn = [&](int64_t extent) {
    return std::max<int64_t>(1, std::lround(static_cast<double>(extent) * scale));
  };
  const int64_t height = drawn(sample.height);
  const int64_t width = drawn(sample.width);
  if (height < tile.height || width < tile.width) {
    canvas.fill(top, left, tile.height, tile.width, kTile);
  }
  top += (tile.height - height) / 2;
  left += (tile.width - width) / 2;
  for (int64_t y = 0; y < height; ++y) {
    const int64_t y0 = y * sample.height / height;
    const int64_t y1 = std::max((y + 1) * sample.height / height, y0 + 1);
    for (int64_t x = 0; x < width; ++x) {
      const int64_t x0 = x * sample.width / width;
      const int64_t x1 = std::max((x + 1) * sample.width / width, x0 + 1);
      canvas.set(top + y, left + x, mean_colour(sample, y0, y1, x0, x1));
    }
  }
}

void draw_signal(Canvas& canvas, int64_t top, int64_t left, const Tile& tile,
                 const Sample& sample) {
  constexpr int64_t kInside = 4;  // between the plot and its border
  canvas.fill(top, left, tile.height, tile.width, kTile);
  canvas.fill(top + 1, left + 1, tile.height - 2, tile.width - 2, {255, 255, 255});
  const float* values = sample.floats();
  const auto [low, high] = std::minmax_element(values, values + sample.elements());
  const double range = *high > *low ? static_cast<double>(*high) - static_cast<double>(*low) : 1;
  const int64_t height = tile.height - 2 * kInside - 1;
  const int64_t width = tile.width - 2 * kInside - 1;
  const int64_t points = sample.height * sample.width;
  const int64_t channels = std::min<int64_t>(sample.channels, kLines.size());
  const auto y_of = [&](int64_t point, int64_t channel) {
    const double value = values[point * sample.channels + channel];
    const double part = std::isfinite(value) ? (value - static_cast<double>(*low)) / range : 0;
    return top + kInside + std::lround((1 - part) * static_cast<double>(height));
  };
  const auto x_of = [&](int64_t point) {
    return left + kInside + (points > 1 ? point * width / (points - 1) : width / 2);
  };
  for (int64_t c = channels - 1; c >= 0; --c) {
    const Colour colour = kLines[static_cast<size_t>(c)];
    for (int64_t i = 0; i < points; ++i) {
      const int64_t before = std::max<int64_t>(i - 1, 0);
      canvas.line(y_of(before, c), x_of(before), y_of(i, c), x_of(i), colour);
    }
  }
}

struct Row {
  std::string name;
  std::string count;
  std::vector<int64_t> samples;
};

std::string shortened(const std::string& name) {
  return name.size() <= kLongestName ? name : name.substr(0, kLongestName - 2) + "..";
}

std::vector<Row> choose_rows(const Dataset& dataset, const SheetOptions& options) {
  const std::vector<std::string>& classes = dataset.info().classes;
  const auto count = std::min<size_t>(classes.size(), static_cast<size_t>(options.most_classes));
  std::vector<Row> rows(count);
  std::vector<int64_t> sizes(count, 0);
  for (int64_t i = 0; i < dataset.size(); ++i) {
    const auto label = static_cast<size_t>(dataset.label(i));
    if (label >= count) continue;
    ++sizes[label];
    if (std::ssize(rows[label].samples) < options.samples_per_class) {
      rows[label].samples.push_back(i);
    }
  }
  for (size_t k = 0; k < count; ++k) {
    rows[k].name = shortened(classes[k]);
    rows[k].count = format_count(sizes[k]);
  }
  return rows;
}

std::string title_of(const DatasetInfo& info, size_t rows) {
  const std::string size = !info.same_size() ? "different sizes"
                           : info.height == 1
                               ? fmt::format("{} channel{} of {}", info.channels,
                                             info.channels == 1 ? "" : "s", info.width)
                               : fmt::format("{}x{}x{}", info.channels, info.height, info.width);
  const std::string classes = rows < info.classes.size()
                                  ? fmt::format("{} of {} classes", rows, info.classes.size())
                                  : fmt::format("{} classes", rows);
  return fmt::format("{} samples, {}, {}", format_count(info.size), size, classes);
}

}  // namespace

Canvas contact_sheet(const Dataset& dataset, const SheetOptions& options) {
  const DatasetInfo& info = dataset.info();
  const std::vector<Row> rows = choose_rows(dataset, options);
  const Tile tile = tile_of(info);
  const std::string title = title_of(info, rows.size());
  const int64_t letters = Canvas::text_height(kScale);
  const bool two_lines = tile.height >= 3 * letters;  // room for the count below the name
  int64_t names = 0;
  for (const Row& row : rows) names = std::max(names, Canvas::text_width(row.name, kScale));
  const int64_t row_height = std::max(tile.height, letters) + kGap;
  const int64_t header = kMargin + letters + kMargin * 3 / 4;
  const int64_t tiles_left = kMargin + names + (names > 0 ? kMargin * 2 / 3 : 0);
  const int64_t tiles_width = options.samples_per_class * (tile.width + kGap) - kGap;
  const std::string name = shortened(info.name.substr(info.name.find_last_of('/') + 1));
  const int64_t title_left = kMargin + Canvas::text_width(name, kScale) + 4 * kScale * 3;
  const int64_t width =
      std::max(tiles_left + tiles_width, title_left + Canvas::text_width(title, kScale));

  Canvas canvas(header + static_cast<int64_t>(rows.size()) * row_height - kGap + kMargin,
                width + kMargin, kPaper);
  canvas.text(kMargin, kMargin, name, kInk, kScale);
  canvas.text(kMargin, title_left, title, kFaint, kScale);
  Scratch scratch;
  int64_t top = header;
  for (const Row& row : rows) {
    const int64_t block = two_lines ? 2 * letters + 3 * kScale : letters;
    const int64_t text_top = top + (row_height - kGap - block) / 2;
    canvas.text(text_top, kMargin + names - Canvas::text_width(row.name, kScale), row.name, kInk,
                kScale);
    if (two_lines) {
      canvas.text(text_top + letters + 3 * kScale,
                  kMargin + names - Canvas::text_width(row.count, kScale), row.count, kFaint,
                  kScale);
    }
    int64_t left = tiles_left;
    for (const int64_t index : row.samples) {
      const Sample sample = dataset.read(index, scratch);
      if (sample.dtype == DType::u8) {
        draw_picture(canvas, top, left, tile, sample);
      } else {
        draw_signal(canvas, top, left, tile, sample);
      }
      left += tile.width + kGap;
    }
    dataset.check();
    top += row_height;
  }
  return canvas;
}

}  // namespace syrtos::data
