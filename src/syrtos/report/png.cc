#include <cairo/cairo.h>

#include <cmath>
#include <memory>
#include <numbers>

#include "syrtos/base/error.h"
#include "syrtos/report/layout.h"

namespace syrtos::report {

namespace {

constexpr double kScale = 2;  // pixels per unit, for sharp screens
constexpr double kFaint = 0.18;

using Surface = std::unique_ptr<cairo_surface_t, decltype(&cairo_surface_destroy)>;
using Context = std::unique_ptr<cairo_t, decltype(&cairo_destroy)>;

void check(cairo_status_t status) {
  if (status == CAIRO_STATUS_SUCCESS) return;
  fail_run("the picture could not be drawn: {}; write .svg instead",
           cairo_status_to_string(status));
}

void use_colour(cairo_t* cairo, const char* colour, double opacity = 1) {
  auto part = [colour](size_t at) {
    return std::stoi(std::string(colour + 1 + 2 * at, 2), nullptr, 16) / 255.0;
  };
  cairo_set_source_rgba(cairo, part(0), part(1), part(2), opacity);
}

void trace(cairo_t* cairo, const std::vector<Place>& places) {
  cairo_new_path(cairo);
  for (const Place& place : places) cairo_line_to(cairo, place.x, place.y);
}

struct Painter {
  cairo_t* cairo;

  void operator()(const Path& path) const {
    trace(cairo, path.places);
    use_colour(cairo, colour_of(path.ink).light, path.filled ? kFaint : 1);
    if (path.filled) {
      cairo_close_path(cairo);
      cairo_fill(cairo);
      return;
    }
    constexpr double kDashes[] = {6, 4};
    cairo_set_dash(cairo, kDashes, path.dashed ? 2 : 0, 0);
    cairo_set_line_width(cairo, path.width);
    cairo_stroke(cairo);
  }

  void operator()(const Marker& marker) const {
    use_colour(cairo, colour_of(marker.ink).light);
    trace(cairo, corners_of(marker));
    if (marker.shape == MarkerShape::circle) {
      cairo_arc(cairo, marker.at.x, marker.at.y, kMarkerRadius, 0, 2 * std::numbers::pi);
    }
    cairo_close_path(cairo);
    cairo_fill(cairo);
  }

  void operator()(const Label& label) const {
    use_colour(cairo, colour_of(label.ink).light);
    cairo_select_font_face(cairo, "DejaVu Sans", CAIRO_FONT_SLANT_NORMAL,
                           label.strong ? CAIRO_FONT_WEIGHT_BOLD : CAIRO_FONT_WEIGHT_NORMAL);
    cairo_set_font_size(cairo, label.size * 0.94);  // a wide font
    cairo_text_extents_t extents;
    cairo_text_extents(cairo, label.text.c_str(), &extents);
    const double part = label.anchor == Anchor::start    ? 0
                        : label.anchor == Anchor::middle ? 0.5
                                                         : 1;
    cairo_save(cairo);
    cairo_translate(cairo, label.at.x, label.at.y);
    if (label.upwards) cairo_rotate(cairo, -std::numbers::pi / 2);
    cairo_move_to(cairo, -part * extents.x_advance, 0);
    cairo_show_text(cairo, label.text.c_str());
    cairo_restore(cairo);
  }
};

cairo_status_t append(void* to, const unsigned char* bytes, unsigned int count) {
  static_cast<std::string*>(to)->append(reinterpret_cast<const char*>(bytes), count);
  return CAIRO_STATUS_SUCCESS;
}

}  // namespace

std::string to_png(const Chart& chart) { return to_png(layout_of(chart)); }

std::string to_png(const Layout& layout) {
  const Surface surface(
      cairo_image_surface_create(CAIRO_FORMAT_RGB24, static_cast<int>(layout.width * kScale),
                                 static_cast<int>(layout.height * kScale)),
      cairo_surface_destroy);
  check(cairo_surface_status(surface.get()));
  const Context cairo(cairo_create(surface.get()), cairo_destroy);
  cairo_scale(cairo.get(), kScale, kScale);
  cairo_set_line_join(cairo.get(), CAIRO_LINE_JOIN_ROUND);
  use_colour(cairo.get(), kPaper.light);
  cairo_paint(cairo.get());
  for (const auto& shape : layout.shapes) std::visit(Painter{cairo.get()}, shape);
  check(cairo_status(cairo.get()));
  std::string bytes;
  check(cairo_surface_write_to_png_stream(surface.get(), append, &bytes));
  return bytes;
}

}  // namespace syrtos::report
