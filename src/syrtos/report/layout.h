#pragma once

#include <array>
#include <string>
#include <variant>
#include <vector>

#include "syrtos/report/plot.h"

// A chart as shapes at places: what the picture formats draw, and what tests can look at. Units are
// those of the SVG; y grows downwards.

namespace syrtos::report {

struct Place {
  double x = 0;
  double y = 0;
};

/// What a shape is for; formats choose the colour.
struct Ink {
  enum Kind { grid, frame, text, quiet, series } kind = text;
  int index = 0;  ///< of series: which colour, below kSeriesColours
};

struct Colour {
  const char* light;  ///< "#rrggbb" on light paper
  const char* dark;
};
constexpr int kSeriesColours = 6;
Colour colour_of(const Ink& ink);
constexpr Colour kPaper = {"#ffffff", "#14181d"};

/// A line through its places. Filled: the area within, faintly.
struct Path {
  std::vector<Place> places;
  Ink ink;
  double width = 1;
  bool dashed = false;
  bool filled = false;
};

enum class MarkerShape { circle, square, triangle, diamond };
constexpr double kMarkerRadius = 3.5;

struct Marker {
  Place at;
  MarkerShape shape = MarkerShape::circle;
  Ink ink;
};

enum class Anchor { start, middle, end };

struct Label {
  Place at;  ///< on the base line
  std::string text;
  Ink ink;
  double size = 12;
  Anchor anchor = Anchor::start;
  bool strong = false;
  bool upwards = false;  ///< turned to be read from bottom to top
};

struct Box {
  double left = 0, top = 0, right = 0, bottom = 0;
};

struct Layout {
  double width = 0;
  double height = 0;
  Box plot;                                               ///< within the axes
  std::vector<std::variant<Path, Marker, Label>> shapes;  ///< in the order of drawing
};

Layout layout_of(const Chart& chart);
/// Any shapes as a picture.
std::string to_svg(const Layout& layout);
std::string to_png(const Layout& layout);

constexpr double kStrong = 1.1;  ///< of a strong letter's width to a plain one's
/// About the space that a text takes; fonts differ, so it is on the large side.
double text_width(const std::string& text, double size);
Box box_of(const Label& label);
/// How many letters fit.
size_t columns_in(double width, double size);

/// The corners of a marker that is no circle.
std::vector<Place> corners_of(const Marker& marker);

}  // namespace syrtos::report
