#pragma once

#include <cairo/cairo.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "syrtos/data/pictures/picture.h"

namespace syrtos::data {

struct Colour {
  uint8_t red;
  uint8_t green;
  uint8_t blue;
};

/// A picture that Cairo draws on: black at first. All places are in pixels from the upper left
/// corner. Throws RunError when Cairo fails.
class Drawing {
 public:
  struct Point {
    double x;
    double y;
  };
  static constexpr double kLineHeight = 20;  ///< of a line of text

  Drawing(int64_t height, int64_t width);

  int64_t height() const { return height_; }
  int64_t width() const { return width_; }

  void fill(double y, double x, double height, double width, Colour colour) const;
  /// Draws a line through all points, two pixels thick.
  void line(const std::vector<Point>& points, Colour colour) const;
  double text_width(const std::string& text) const;
  /// Writes UTF-8 in a line whose upper edge is `top`.
  void text(double top, double left, const std::string& text, Colour colour) const;
  /// Draws each pixel of a picture, [height, width, channels], as a square of `factor` pixels.
  void enlarged(int64_t top, int64_t left, const uint8_t* pixels, int64_t height, int64_t width,
                int64_t channels, double factor) const;

  Picture picture() const;

 private:
  uint32_t* row(int64_t y) const;
  void use(Colour colour) const;

  int64_t height_;
  int64_t width_;
  std::unique_ptr<cairo_surface_t, void (*)(cairo_surface_t*)> surface_;
  std::unique_ptr<cairo_t, void (*)(cairo_t*)> cairo_;
};

/// Text in which bytes that are not UTF-8 are replaced by U+FFFD: names of classes come from names
/// of files, which may be anything.
std::string valid_utf8(const std::string& text);

}  // namespace syrtos::data
