#include "syrtos/data/pictures/drawing.h"

#include <nlohmann/json.hpp>

#include "syrtos/base/error.h"

namespace syrtos::data {

namespace {

constexpr double kLetters = 15;  // size of the font
constexpr double kThickness = 2;

void check(cairo_status_t status) {
  if (status == CAIRO_STATUS_SUCCESS) return;
  fail_run("the picture could not be drawn: {}", cairo_status_to_string(status));
}

}  // namespace

// Cairo has 32 bits for each pixel; the lower 24 are red, green and blue.
Drawing::Drawing(int64_t height, int64_t width)
    : height_(height),
      width_(width),
      surface_(cairo_image_surface_create(CAIRO_FORMAT_RGB24, static_cast<int>(width),
                                          static_cast<int>(height)),
               cairo_surface_destroy),
      cairo_(cairo_create(surface_.get()), cairo_destroy) {
  check(cairo_status(cairo_.get()));
  cairo_select_font_face(cairo_.get(), "sans-serif", CAIRO_FONT_SLANT_NORMAL,
                         CAIRO_FONT_WEIGHT_NORMAL);
  cairo_set_font_size(cairo_.get(), kLetters);
  cairo_set_line_width(cairo_.get(), kThickness);
  cairo_set_line_join(cairo_.get(), CAIRO_LINE_JOIN_ROUND);
  cairo_set_line_cap(cairo_.get(), CAIRO_LINE_CAP_ROUND);
}

uint32_t* Drawing::row(int64_t y) const {
  unsigned char* data = cairo_image_surface_get_data(surface_.get());
  return reinterpret_cast<uint32_t*>(data + y * cairo_image_surface_get_stride(surface_.get()));
}

void Drawing::use(Colour colour) const {
  cairo_set_source_rgb(cairo_.get(), colour.red / 255.0, colour.green / 255.0, colour.blue / 255.0);
}

void Drawing::fill(double y, double x, double height, double width, Colour colour) const {
  use(colour);
  cairo_rectangle(cairo_.get(), x, y, width, height);
  cairo_fill(cairo_.get());
}

void Drawing::line(const std::vector<Point>& points, Colour colour) const {
  use(colour);
  for (const Point& point : points) cairo_line_to(cairo_.get(), point.x, point.y);
  cairo_stroke(cairo_.get());
}

double Drawing::text_width(const std::string& text) const {
  cairo_text_extents_t extents;
  cairo_text_extents(cairo_.get(), text.c_str(), &extents);
  return extents.x_advance;
}

void Drawing::text(double top, double left, const std::string& text, Colour colour) const {
  cairo_font_extents_t font;
  cairo_font_extents(cairo_.get(), &font);
  use(colour);
  cairo_move_to(cairo_.get(), left, top + (kLineHeight - font.height) / 2 + font.ascent);
  cairo_show_text(cairo_.get(), text.c_str());
}

void Drawing::enlarged(int64_t top, int64_t left, const uint8_t* pixels, int64_t height,
                       int64_t width, int64_t channels, double factor) const {
  const Drawing source(height, width);
  const int64_t green = channels < 3 ? 0 : 1;
  const int64_t blue = channels < 3 ? 0 : 2;
  cairo_surface_flush(source.surface_.get());
  for (int64_t y = 0; y < height; ++y) {
    for (int64_t x = 0; x < width; ++x, pixels += channels) {
      source.row(y)[x] = static_cast<uint32_t>(pixels[0] << 16 | pixels[green] << 8 | pixels[blue]);
    }
  }
  cairo_surface_mark_dirty(source.surface_.get());
  cairo_save(cairo_.get());
  cairo_translate(cairo_.get(), static_cast<double>(left), static_cast<double>(top));
  cairo_scale(cairo_.get(), factor, factor);
  cairo_set_source_surface(cairo_.get(), source.surface_.get(), 0, 0);
  cairo_pattern_set_filter(cairo_get_source(cairo_.get()), CAIRO_FILTER_NEAREST);
  cairo_paint(cairo_.get());
  cairo_restore(cairo_.get());
}

Picture Drawing::picture() const {
  check(cairo_status(cairo_.get()));
  cairo_surface_flush(surface_.get());
  Picture result{.height = height_, .width = width_, .channels = 3};
  result.pixels.reserve(static_cast<size_t>(height_ * width_ * 3));
  for (int64_t y = 0; y < height_; ++y) {
    for (int64_t x = 0; x < width_; ++x) {
      for (const int shift : {16, 8, 0}) {
        result.pixels.push_back(static_cast<uint8_t>(row(y)[x] >> shift));
      }
    }
  }
  return result;
}

std::string valid_utf8(const std::string& text) {
  using nlohmann::json;
  return json::parse(json(text).dump(-1, ' ', false, json::error_handler_t::replace));
}

}  // namespace syrtos::data
