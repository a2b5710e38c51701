#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

// Charts as data, and three ways to draw one: on a terminal, as SVG and as PNG. What is drawn where
// is decided in layout.h for both picture formats; a chart knows nothing of pixels.

namespace syrtos::report {

struct Point {
  double x = 0;
  double y = 0;
  std::optional<double> low = {};  ///< the spread of y: both or none
  std::optional<double> high = {};
};

enum class LineStyle { solid, dashed, none };
enum class Spread { bars, band };

struct Series {
  std::string name = {};  ///< in the legend; empty: not there
  std::vector<Point> points = {};
  LineStyle line = LineStyle::solid;
  bool markers = true;
  Spread spread = Spread::bars;
  bool guide = false;  ///< a line to compare with: grey, behind the others
};

enum class Scale { linear, log };

/// Reaches over all points and, where they are given, at least from `from` to `to`.
struct Axis {
  std::string label = {};
  Scale scale = Scale::linear;
  std::optional<double> from = {};
  std::optional<double> to = {};
  bool whole = false;  ///< ticks at whole numbers only
};

/// Points that are not finite, or not above 0 on an axis with a log scale, are left out and break
/// the line.
struct Chart {
  std::string title = {};
  Axis x = {};
  Axis y = {};
  std::vector<Series> series = {};
  std::vector<std::string> notes = {};  ///< below the chart
  bool square = false;                  ///< as high as wide, in pictures
};

/// Series of (measured, predicted) points over equal log axes, with the diagonal and, beside it,
/// the lines of `tolerance` (below 0.5) more and less.
Chart compare_chart(std::string title, std::string x_label, std::string y_label,
                    std::vector<Series> series, double tolerance = 0.1);

struct TerminalOptions {
  int columns = 80;
  int rows = 24;         ///< of the whole chart without legend and notes
  bool unicode = false;  ///< braille dots; otherwise ASCII alone
  bool colour = false;
};

/// Lines of text, each ended by a newline and none longer than `columns` (if that is 40 or more).
std::string to_text(const Chart& chart, const TerminalOptions& options);

/// A whole SVG file. Colours follow the reader's light or dark scheme.
std::string to_svg(const Chart& chart);
/// The bytes of a PNG file, twice as many pixels as the SVG has units. Throws RunError.
std::string to_png(const Chart& chart);

/// Whether write_chart knows the format by the file's extension.
bool can_write_chart(const std::filesystem::path& file);
/// Writes .svg or .png, whole or not at all. Throws RequestError for another extension, RunError
/// when it cannot be written.
void write_chart(const Chart& chart, const std::filesystem::path& file);

}  // namespace syrtos::report
