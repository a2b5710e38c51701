#include <algorithm>

#include "syrtos/report/layout.h"
#include "syrtos/report/text.h"

namespace syrtos::report {

namespace {

constexpr double kLetter = 0.58;  // of a letter's width to its size

}  // namespace

double text_width(const std::string& text, double size) {
  return static_cast<double>(length_of(text)) * kLetter * size;
}

size_t columns_in(double width, double size) {
  return static_cast<size_t>(std::max(4.0, width / (kLetter * size)));
}

Colour colour_of(const Ink& ink) {
  constexpr std::array<Colour, kSeriesColours> kSeries = {{{"#1f6fa8", "#6cb6f2"},
                                                           {"#d1600a", "#f2a55f"},
                                                           {"#1b855a", "#5fd0a0"},
                                                           {"#7a55b0", "#b99cf0"},
                                                           {"#c2325a", "#ff86a2"},
                                                           {"#80651c", "#d8bf68"}}};
  switch (ink.kind) {
    case Ink::grid:
      return {"#e6e8eb", "#2a3038"};
    case Ink::frame:
      return {"#9aa1a9", "#6b747e"};
    case Ink::text:
      return {"#22272c", "#e3e7eb"};
    case Ink::quiet:
      return {"#5c646c", "#a3abb4"};
    case Ink::series:
      break;
  }
  return kSeries[static_cast<size_t>(ink.index)];
}

Box box_of(const Label& label) {
  const double width = text_width(label.text, label.size) * (label.strong ? kStrong : 1);
  const double before = label.anchor == Anchor::start    ? 0
                        : label.anchor == Anchor::middle ? width / 2
                                                         : width;
  const double above = label.size * 0.8;
  const double below = label.size * 0.25;
  if (label.upwards) {
    return {label.at.x - above, label.at.y + before - width, label.at.x + below,
            label.at.y + before};
  }
  return {label.at.x - before, label.at.y - above, label.at.x - before + width, label.at.y + below};
}

std::vector<Place> corners_of(const Marker& marker) {
  const auto [x, y] = marker.at;
  const double r = kMarkerRadius;
  switch (marker.shape) {
    case MarkerShape::square:
      return {{x - r, y - r}, {x + r, y - r}, {x + r, y + r}, {x - r, y + r}};
    case MarkerShape::triangle:
      return {{x, y - 1.3 * r}, {x + 1.2 * r, y + r}, {x - 1.2 * r, y + r}};
    case MarkerShape::diamond:
      return {{x, y - 1.4 * r}, {x + 1.4 * r, y}, {x, y + 1.4 * r}, {x - 1.4 * r, y}};
    case MarkerShape::circle:
      break;
  }
  return {};
}

}  // namespace syrtos::report
