#include "syrtos/data/contact_sheet.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "syrtos/base/format.h"
#include "syrtos/data/pictures/drawing.h"

namespace syrtos::data {

namespace {

constexpr Colour kPaper = {250, 250, 248};
constexpr Colour kTile = {236, 236, 232};  // around pictures that do not fill their place
constexpr Colour kInk = {40, 44, 52};
constexpr Colour kFaint = {140, 144, 150};
constexpr std::array<Colour, 4> kLines = {
    {{31, 119, 180}, {214, 102, 20}, {44, 140, 60}, {170, 50, 110}}};
constexpr int64_t kMargin = 24;    // around everything
constexpr int64_t kGap = 6;        // between pictures
constexpr int64_t kFitted = 96;    // pixels of a large picture's longer side
constexpr int64_t kEnlarged = 64;  // small pictures are enlarged up to this
constexpr int64_t kPlotHeight = 64;
constexpr int64_t kPlotWidth = 128;
constexpr size_t kLongestName = 24;  // characters

struct Tile {
  int64_t height;
  int64_t width;
};

/// Signals and rows of tables are lines; floats of two dimensions are pictures, too.
bool is_plotted(const DatasetInfo& info) { return info.dtype != DType::u8 && info.height <= 1; }

Tile tile_of(const DatasetInfo& info) {
  if (is_plotted(info)) return {kPlotHeight, kPlotWidth};
  const int64_t longer = std::max(info.height, info.width);
  if (!info.same_size() || longer > kFitted) return {kFitted, kFitted};
  const int64_t factor = std::max<int64_t>(1, kEnlarged / longer);
  return {info.height * factor, info.width * factor};
}

void draw_picture(const Drawing& sheet, int64_t top, int64_t left, const Tile& tile,
                  const Sample& sample, ResizeScratch& scratch) {
  const double scale =
      std::min(static_cast<double>(tile.height) / static_cast<double>(sample.height),
               static_cast<double>(tile.width) / static_cast<double>(sample.width));
  const auto drawn = [&](int64_t extent) {
    return std::max<int64_t>(1, std::lround(static_cast<double>(extent) * scale));
  };
  Picture fitted{
      .height = drawn(sample.height), .width = drawn(sample.width), .channels = sample.channels};
  if (fitted.height < tile.height || fitted.width < tile.width) {
    sheet.fill(static_cast<double>(top), static_cast<double>(left),
               static_cast<double>(tile.height), static_cast<double>(tile.width), kTile);
  }
  top += (tile.height - fitted.height) / 2;
  left += (tile.width - fitted.width) / 2;
  if (scale >= 1) {
    sheet.enlarged(top, left, sample.bytes(), sample.height, sample.width, sample.channels, scale);
    return;
  }
  fitted.pixels.resize(static_cast<size_t>(fitted.height * fitted.width * fitted.channels));
  const Window whole{.height = static_cast<double>(sample.height),
                     .width = static_cast<double>(sample.width)};
  resize(sample.bytes(), sample.height, sample.width, sample.channels, whole, fitted.pixels.data(),
         fitted.height, fitted.width, scratch);
  sheet.enlarged(top, left, fitted.pixels.data(), fitted.height, fitted.width, fitted.channels, 1);
}

/// Floats as a picture: from black, the least of the sample, to white, the most; of channels that
/// are no colours the first.
void draw_floats(const Drawing& sheet, int64_t top, int64_t left, const Tile& tile,
                 const Sample& sample, ResizeScratch& scratch) {
  const float* values = sample.floats();
  const auto [low, high] = std::minmax_element(values, values + sample.elements());
  const double least = *low;
  const double range = *high > *low ? static_cast<double>(*high) - least : 1;
  const int64_t channels = sample.channels >= 3 ? 3 : 1;
  std::vector<uint8_t> bytes;
  for (int64_t i = 0; i < sample.height * sample.width; ++i) {
    for (int64_t c = 0; c < channels; ++c) {
      const double part = (static_cast<double>(values[i * sample.channels + c]) - least) / range;
      bytes.push_back(static_cast<uint8_t>(std::lround(255 * std::clamp(part, 0.0, 1.0))));
    }
  }
  Sample picture = sample;
  picture.values = bytes.data();
  picture.dtype = DType::u8;
  picture.channels = channels;
  draw_picture(sheet, top, left, tile, picture, scratch);
}

void draw_signal(const Drawing& sheet, double top, double left, const Tile& tile,
                 const Sample& sample) {
  constexpr double kInside = 4;  // between the plot and its border
  const auto tile_height = static_cast<double>(tile.height);
  const auto tile_width = static_cast<double>(tile.width);
  sheet.fill(top, left, tile_height, tile_width, kTile);
  sheet.fill(top + 1, left + 1, tile_height - 2, tile_width - 2, {255, 255, 255});
  const float* values = sample.floats();
  const auto [low, high] = std::minmax_element(values, values + sample.elements());
  const double range = *high > *low ? static_cast<double>(*high) - static_cast<double>(*low) : 1;
  const double height = tile_height - 2 * kInside;
  const double width = tile_width - 2 * kInside;
  const int64_t points = sample.height * sample.width;
  for (int64_t c = std::min<int64_t>(sample.channels, kLines.size()) - 1; c >= 0; --c) {
    std::vector<Drawing::Point> line;
    for (int64_t i = 0; i < points; ++i) {
      const double value = values[i * sample.channels + c];
      const double part = std::isfinite(value) ? (value - static_cast<double>(*low)) / range : 0;
      const double along =
          points > 1 ? static_cast<double>(i) / static_cast<double>(points - 1) : 0.5;
      line.push_back({left + kInside + along * width, top + kInside + (1 - part) * height});
    }
    sheet.line(line, kLines[static_cast<size_t>(c)]);
  }
}

struct Row {
  std::string name;
  std::string count;
  std::vector<int64_t> samples;
};

/// In UTF-8, every byte but those of the form 10xxxxxx begins a character.
std::string shortened(const std::string& name) {
  const std::string text = valid_utf8(name);
  size_t characters = 0;
  size_t cut = text.size();
  for (size_t i = 0; i < text.size(); ++i) {
    if ((static_cast<unsigned char>(text[i]) & 0xC0) == 0x80) continue;
    if (++characters == kLongestName) cut = i;
  }
  return characters <= kLongestName ? text : text.substr(0, cut) + "…";
}

/// A row for each label that samples have or have not.
std::vector<Row> rows_of_labels(const Dataset& dataset, const SheetOptions& options) {
  const TargetInfo& targets = dataset.info().targets;
  std::vector<Row> rows;
  for (int64_t k = 0; k < std::min<int64_t>(targets.values, options.most_classes); ++k) {
    Row row{.name = shortened(targets.name(k)), .count = {}, .samples = {}};
    int64_t count = 0;
    for (int64_t i = 0; i < dataset.size(); ++i) {
      if (dataset.target(i).values[static_cast<size_t>(k)] == 0) continue;
      if (count++ < options.samples_per_class) row.samples.push_back(i);
    }
    row.count = format_count(count);
    rows.push_back(std::move(row));
  }
  return rows;
}

/// Rows of as many samples each, from the least to the largest first value.
std::vector<Row> rows_of_values(const Dataset& dataset, const SheetOptions& options) {
  constexpr int64_t kRows = 5;
  std::vector<int64_t> order(static_cast<size_t>(dataset.size()));
  std::iota(order.begin(), order.end(), int64_t{0});
  const auto value = [&](int64_t index) { return dataset.target(index).values[0]; };
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t a, int64_t b) { return value(a) < value(b); });
  std::vector<Row> rows;
  for (int64_t r = 0; r < std::min(kRows, dataset.size()); ++r) {
    const int64_t begin = dataset.size() * r / std::min(kRows, dataset.size());
    const int64_t end = dataset.size() * (r + 1) / std::min(kRows, dataset.size());
    Row row{.name = fmt::format("{:.4g} to {:.4g}", value(order[static_cast<size_t>(begin)]),
                                value(order[static_cast<size_t>(end - 1)])),
            .count = format_count(end - begin),
            .samples = {}};
    const int64_t shown = std::min<int64_t>(end - begin, options.samples_per_class);
    for (int64_t i = 0; i < shown; ++i) {
      row.samples.push_back(order[static_cast<size_t>(begin + i * (end - begin) / shown)]);
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

std::vector<Row> choose_rows(const Dataset& dataset, const SheetOptions& options) {
  if (dataset.info().targets.values > 0) {
    return dataset.info().targets.binary ? rows_of_labels(dataset, options)
                                         : rows_of_values(dataset, options);
  }
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
  const TargetInfo& targets = info.targets;
  if (targets.values > 0) {
    return fmt::format("{} samples, {}, by {}", format_count(info.size), size,
                       targets.binary       ? "label"
                       : targets.values > 1 ? targets.name(0)
                                            : "value");
  }
  const std::string classes = rows < info.classes.size()
                                  ? fmt::format("{} of {} classes", rows, info.classes.size())
                                  : fmt::format("{} classes", rows);
  return fmt::format("{} samples, {}, {}", format_count(info.size), size, classes);
}

}  // namespace

Picture contact_sheet(const Dataset& dataset, const SheetOptions& options) {
  const DatasetInfo& info = dataset.info();
  const std::vector<Row> rows = choose_rows(dataset, options);
  const Tile tile = tile_of(info);
  const std::string title = title_of(info, rows.size());
  const std::string name = shortened(info.name.substr(info.name.find_last_of('/') + 1));
  const Drawing measure(1, 1);
  const bool two_lines = static_cast<double>(tile.height) >= 2 * Drawing::kLineHeight;
  double names = 0;
  for (const Row& row : rows) {
    names = std::max(names, measure.text_width(row.name));
    if (two_lines) names = std::max(names, measure.text_width(row.count));
  }
  const auto line = static_cast<int64_t>(Drawing::kLineHeight);
  const int64_t row_height = std::max(tile.height, line) + kGap;
  const int64_t header = kMargin + line + kMargin / 2;
  const auto names_right = kMargin + static_cast<int64_t>(std::ceil(names));
  const int64_t tiles_left = names_right + (names > 0 ? kMargin / 2 : 0);
  const int64_t tiles_width = options.samples_per_class * (tile.width + kGap) - kGap;
  const double title_left = kMargin + measure.text_width(name) + kMargin / 2.0;
  const auto width =
      std::max(tiles_left + tiles_width,
               static_cast<int64_t>(std::ceil(title_left + measure.text_width(title))));

  const Drawing sheet(header + static_cast<int64_t>(rows.size()) * row_height - kGap + kMargin,
                      width + kMargin);
  sheet.fill(0, 0, static_cast<double>(sheet.height()), static_cast<double>(sheet.width()), kPaper);
  sheet.text(kMargin, kMargin, name, kInk);
  sheet.text(kMargin, title_left, title, kFaint);
  Scratch scratch;
  int64_t top = header;
  for (const Row& row : rows) {
    const double block = two_lines ? 2 * Drawing::kLineHeight : Drawing::kLineHeight;
    const double text_top =
        static_cast<double>(top) + (static_cast<double>(row_height - kGap) - block) / 2;
    const auto beside = [&](double at, const std::string& text, Colour colour) {
      sheet.text(at, static_cast<double>(names_right) - sheet.text_width(text), text, colour);
    };
    beside(text_top, row.name, kInk);
    if (two_lines) beside(text_top + Drawing::kLineHeight, row.count, kFaint);
    int64_t left = tiles_left;
    for (const int64_t index : row.samples) {
      const Sample sample = dataset.read(index, scratch);
      if (sample.dtype == DType::u8) {
        draw_picture(sheet, top, left, tile, sample, scratch.resize);
      } else if (!is_plotted(info)) {
        draw_floats(sheet, top, left, tile, sample, scratch.resize);
      } else {
        draw_signal(sheet, static_cast<double>(top), static_cast<double>(left), tile, sample);
      }
      left += tile.width + kGap;
    }
    dataset.check();
    top += row_height;
  }
  return sheet.picture();
}

}  // namespace syrtos::data
