#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace syrtos::data {

struct Colour {
  uint8_t red = 0;
  uint8_t green = 0;
  uint8_t blue = 0;
};

/// A picture to draw on, RGB bytes row by row. What lies outside of it is not drawn.
class Canvas {
 public:
  Canvas(int64_t height, int64_t width, Colour background);

  int64_t height() const { return height_; }
  int64_t width() const { return width_; }
  const std::vector<uint8_t>& pixels() const { return pixels_; }

  void set(int64_t y, int64_t x, Colour colour);
  void fill(int64_t y, int64_t x, int64_t height, int64_t width, Colour colour);
  /// A straight line, two pixels thick.
  void line(int64_t y0, int64_t x0, int64_t y1, int64_t x1, Colour colour);
  /// ASCII in letters of 5x7 cells of `scale` pixels; other characters become boxes.
  void text(int64_t y, int64_t x, std::string_view text, Colour colour, int64_t scale);

  static int64_t text_width(std::string_view text, int64_t scale);
  static int64_t text_height(int64_t scale) { return 7 * scale; }

 private:
  int64_t height_;
  int64_t width_;
  std::vector<uint8_t> pixels_;
};

}  // namespace syrtos::data
