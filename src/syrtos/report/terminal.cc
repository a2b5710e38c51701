#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>

#include "syrtos/report/plot.h"
#include "syrtos/report/text.h"
#include "syrtos/report/ticks.h"

namespace syrtos::report {

namespace {

constexpr int kFewestColumns = 40, kFewestRows = 10;
constexpr int kGuide = -1;
constexpr std::string_view kSymbols = "*o+x#@%&";  // of series, without dots
constexpr std::array<const char*, 6> kColours = {"36", "33", "32", "35", "31", "34"};
constexpr std::array<const char*, 4> kMarks = {"●", "■", "▲", "◆"};

size_t pick(int index, size_t of) { return static_cast<size_t>(index) % of; }

/// What stands in one place of the terminal.
struct Cell {
  unsigned dots = 0;  ///< of a braille character
  std::string mark = {};
  int series = 0;
};

std::string braille(unsigned dots) {
  const unsigned code = 0x2800 + dots;
  return {static_cast<char>(0xE0 | code >> 12), static_cast<char>(0x80 | (code >> 6 & 0x3F)),
          static_cast<char>(0x80 | (code & 0x3F))};
}

class TextChart {
 public:
  TextChart(const Chart& chart, const TerminalOptions& options)
      : chart_(chart), options_(options), columns_(std::max(kFewestColumns, options.columns)) {
    const auto lines = std::count_if(chart.series.begin(), chart.series.end(),
                                     [](const Series& series) { return !series.guide; });
    // Without colours dots would not tell one line from another.
    braille_ = options.unicode && (options.colour || lines <= 1);
  }

  std::string make() {
    choose_ranges();
    for (const bool guide : {true, false}) draw(guide);
    put_line(strong(shortened(own(chart_.title), width_limit())), chart_.title.empty());
    put_line(shortened(own(chart_.y.label), width_limit()), chart_.y.label.empty());
    put_plot();
    put_x_axis();
    put_legend();
    for (const std::string& note : chart_.notes) {
      for (const std::string& line : wrapped(own(note), width_limit())) put_line(quiet(line));
    }
    return std::move(out_);
  }

 private:
  size_t width_limit() const { return static_cast<size_t>(columns_); }
  std::string own(const std::string& text) const {
    return options_.unicode ? clean_text(text) : ascii_text(text);
  }
  std::string with(const char* code, const std::string& text) const {
    return options_.colour && !text.empty() ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : text;
  }
  std::string strong(const std::string& text) const { return with("1", text); }
  std::string quiet(const std::string& text) const { return with("90", text); }
  std::string inked(int series, const std::string& text) const {
    return with(series == kGuide ? "90" : kColours[pick(series, kColours.size())], text);
  }
  const char* line_art(const char* unicode, const char* ascii) const {
    return options_.unicode ? unicode : ascii;
  }
  void put_line(std::string line, bool skip = false) {
    if (skip) return;
    line.erase(line.find_last_not_of(' ') + 1);
    out_ += line + "\n";
  }

  void choose_ranges() {
    const Extent extent = extent_of(chart_);
    const int around = 2 + (chart_.title.empty() ? 0 : 1) + (chart_.y.label.empty() ? 0 : 1) +
                       (chart_.x.label.empty() ? 0 : 1);
    height_ = std::max(kFewestRows, options_.rows) - around;
    y_ = range_of(chart_.y, extent.ys, std::max(2, height_ / 3), false);
    for (const Tick& tick : y_.ticks) gutter_ = std::max(gutter_, tick.label.size());
    width_ = columns_ - static_cast<int>(gutter_) - 3;
    x_ = range_of(chart_.x, extent.xs, std::max(2, width_ / 8), extent.lines);
    cells_.assign(static_cast<size_t>(width_) * static_cast<size_t>(height_), {});
  }

  Cell& cell(int column, int row) {
    return cells_[static_cast<size_t>(row) * static_cast<size_t>(width_) +
                  static_cast<size_t>(column)];
  }

  // Dots: 2 x 4 in a braille character, else one in each place.
  int dots_x() const { return braille_ ? 2 * width_ : width_; }
  int dots_y() const { return braille_ ? 4 * height_ : height_; }
  int dot_x(double x) const {
    return static_cast<int>(std::lround(x_.position(x) * (dots_x() - 1)));
  }
  int dot_y(double y) const {
    return static_cast<int>(std::lround((1 - y_.position(y)) * (dots_y() - 1)));
  }

  void dot(int x, int y, int series, char symbol) {
    if (x < 0 || y < 0 || x >= dots_x() || y >= dots_y()) return;
    if (!braille_) {
      cell(x, y) = {0, std::string(1, symbol), series};
      return;
    }
    constexpr unsigned kBits[4][2] = {{1, 8}, {2, 16}, {4, 32}, {64, 128}};
    Cell& at = cell(x / 2, y / 4);
    at.dots |= kBits[y % 4][x % 2];
    at.series = series;
  }

  void segment(Point from, Point to, int series, char symbol, int on, int off) {
    const int x0 = dot_x(from.x), y0 = dot_y(from.y), x1 = dot_x(to.x), y1 = dot_y(to.y);
    const int steps = std::max({std::abs(x1 - x0), std::abs(y1 - y0), 1});
    for (int i = 0; i <= steps; ++i) {
      // By place, not by segment: short segments must not become solid.
      const int along = std::abs(x1 - x0) >= std::abs(y1 - y0) ? x0 + i : y0 + i;
      if (off > 0 && along % (on + off) >= on) continue;
      dot(x0 + static_cast<int>(std::lround(static_cast<double>(x1 - x0) * i / steps)),
          y0 + static_cast<int>(std::lround(static_cast<double>(y1 - y0) * i / steps)), series,
          symbol);
    }
  }

  void polyline(const Series& series, int index, char symbol, int on, int off,
                const std::function<std::optional<double>(const Point&)>& y_of) {
    std::optional<Point> before;
    for (const Point& point : series.points) {
      const std::optional<double> y = visible(chart_, point) ? y_of(point) : std::nullopt;
      if (!y) {
        before.reset();
        continue;
      }
      const Point here = {point.x, *y};
      segment(before.value_or(here), here, index, symbol, before ? on : 1, before ? off : 0);
      before = here;
    }
  }

  char symbol_of(int index) const {
    return index == kGuide ? '.' : kSymbols[pick(index, kSymbols.size())];
  }
  std::string mark_of(int index) const {
    return options_.unicode ? kMarks[pick(index, kMarks.size())] : std::string(1, symbol_of(index));
  }

  void draw_series(const Series& series, int index) {
    auto low = [this](const Point& point) {
      return spread_visible(chart_, point) ? point.low : std::nullopt;
    };
    auto high = [this](const Point& point) {
      return spread_visible(chart_, point) ? point.high : std::nullopt;
    };
    if (series.spread == Spread::band) {
      polyline(series, index, ':', 1, 2, low);
      polyline(series, index, ':', 1, 2, high);
    } else {
      for (const Point& point : series.points) {
        if (spread_visible(chart_, point)) {
          segment({point.x, *point.low}, {point.x, *point.high}, index, '|', 1, 0);
        }
      }
    }
    if (series.line != LineStyle::none) {
      const bool dashed = series.line == LineStyle::dashed;
      polyline(series, index, symbol_of(index), dashed ? 3 : 1, dashed ? 3 : 0,
               [](const Point& point) { return std::optional(point.y); });
      return;
    }
    for (const Point& point : series.points) {
      if (!visible(chart_, point)) continue;
      const int per_x = braille_ ? 2 : 1;
      const int per_y = braille_ ? 4 : 1;
      cell(dot_x(point.x) / per_x, dot_y(point.y) / per_y) = {0, mark_of(index), index};
    }
  }

  void draw(bool guides) {
    int index = 0;
    for (const Series& series : chart_.series) {
      if (series.guide == guides) draw_series(series, guides ? kGuide : index);
      if (!series.guide) ++index;
    }
  }

  int row_of(double value) const {
    return static_cast<int>(std::lround((1 - y_.position(value)) * (height_ - 1)));
  }
  int column_of(double value) const {
    return static_cast<int>(std::lround(x_.position(value) * (width_ - 1)));
  }

  void put_plot() {
    std::vector<std::string> labels(static_cast<size_t>(height_));
    for (const Tick& tick : y_.ticks) labels[static_cast<size_t>(row_of(tick.value))] = tick.label;
    for (int row = 0; row < height_; ++row) {
      const std::string& label = labels[static_cast<size_t>(row)];
      std::string line = quiet(fmt::format(
          "{:>{}} {}", label, gutter_, label.empty() ? line_art("│", "|") : line_art("┤", "+")));
      for (int column = 0; column < width_; ++column) {
        const Cell& at = cell(column, row);
        const std::string text = !at.mark.empty() ? at.mark : at.dots != 0 ? braille(at.dots) : "";
        line += text.empty() ? " " : inked(at.series, text);
      }
      put_line(line);
    }
  }

  void put_x_axis() {
    const auto width = static_cast<size_t>(width_);
    std::vector<bool> ticks(width);
    std::string labels(width + 1, ' ');
    size_t free = 0;
    for (const Tick& tick : x_.ticks) {
      const int column = column_of(tick.value);
      ticks[static_cast<size_t>(column)] = true;
      const int half = static_cast<int>(tick.label.size()) / 2;
      const auto from = static_cast<size_t>(
          std::clamp(column - half, 0, static_cast<int>(labels.size() - tick.label.size())));
      if (from < free) continue;
      labels.replace(from, tick.label.size(), tick.label);
      free = from + tick.label.size() + 1;
    }
    std::string axis = std::string(gutter_ + 1, ' ') + line_art("└", "+");
    for (size_t i = 0; i < width; ++i) {
      axis += ticks[i] ? line_art("┬", "+") : line_art("─", "-");
    }
    const std::string margin(gutter_ + 2, ' ');
    put_line(quiet(axis));
    labels.erase(labels.find_last_not_of(' ') + 1);
    put_line(margin + quiet(labels));
    const std::string label = shortened(own(chart_.x.label), width);
    const size_t before = (width - length_of(label)) / 2;
    put_line(margin + std::string(before, ' ') + label, label.empty());
  }

  std::string sample_of(const Series& series, int index) const {
    if (series.line == LineStyle::none) return mark_of(index);
    if (!braille_) return std::string(2, symbol_of(index));
    return series.line == LineStyle::dashed ? "╌╌" : "──";
  }

  void put_legend() {
    std::string line;
    size_t used = 0;
    int next = 0;
    for (const Series& series : chart_.series) {
      const int index = series.guide ? kGuide : next++;
      if (series.name.empty()) continue;
      const std::string sample = sample_of(series, index);
      const size_t space = width_limit() - length_of(sample) - 1;
      const std::string name = shortened(own(series.name), space);
      const size_t length = length_of(sample) + 1 + length_of(name);
      if (used > 0 && used + 3 + length > width_limit()) {
        put_line(line);
        line.clear();
        used = 0;
      }
      line += (used > 0 ? "   " : "") + inked(index, sample) + " " + name;
      used += (used > 0 ? 3 : 0) + length;
    }
    put_line(line, line.empty());
  }

  const Chart& chart_;
  const TerminalOptions& options_;
  int columns_;
  bool braille_ = false;
  int width_ = 0, height_ = 0;  ///< of the plot, in characters
  size_t gutter_ = 0;           ///< columns of the y axis's labels
  Range x_, y_;
  std::vector<Cell> cells_;
  std::string out_;
};

}  // namespace

std::string to_text(const Chart& chart, const TerminalOptions& options) {
  return TextChart(chart, options).make();
}

}  // namespace syrtos::report
