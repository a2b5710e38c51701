#include <fmt/format.h>

#include <iterator>

#include "syrtos/report/layout.h"
#include "syrtos/report/text.h"

namespace syrtos::report {

namespace {

std::string number(double value) {
  std::string text = fmt::format("{:.1f}", value);
  if (text.ends_with(".0")) text.resize(text.size() - 2);
  return text == "-0" ? "0" : text;
}

std::string name_of(const Ink& ink) {
  switch (ink.kind) {
    case Ink::grid:
      return "grid";
    case Ink::frame:
      return "frame";
    case Ink::text:
      return "text";
    case Ink::quiet:
      return "quiet";
    case Ink::series:
      break;
  }
  return fmt::format("s{}", ink.index);
}

std::vector<Ink> all_inks() {
  std::vector<Ink> inks = {{Ink::grid}, {Ink::frame}, {Ink::text}, {Ink::quiet}};
  for (int i = 0; i < kSeriesColours; ++i) inks.push_back({Ink::series, i});
  return inks;
}

/// A class per ink sets `color`; shapes use it as currentColor, so one rule serves both schemes.
std::string style() {
  std::string light = fmt::format(".paper{{color:{}}}", kPaper.light);
  std::string dark = fmt::format(".paper{{color:{}}}", kPaper.dark);
  for (const Ink& ink : all_inks()) {
    light += fmt::format(".{}{{color:{}}}", name_of(ink), colour_of(ink).light);
    dark += fmt::format(".{}{{color:{}}}", name_of(ink), colour_of(ink).dark);
  }
  return fmt::format(
      "<style>\n"
      "text{{fill:currentColor}} path{{fill:none;stroke:currentColor;stroke-linejoin:round}}\n"
      ".dashed{{stroke-dasharray:6 4}} .area{{fill:currentColor;stroke:none;opacity:.18}}\n"
      ".mark{{fill:currentColor;stroke:none}}\n"
      "{}\n@media (prefers-color-scheme:dark){{{}}}\n</style>\n",
      light, dark);
}

std::string path_data(const std::vector<Place>& places, bool closed) {
  std::string data;
  for (const Place& place : places) {
    data += fmt::format("{}{} {}", data.empty() ? "M" : "L", number(place.x), number(place.y));
  }
  return data + (closed ? "Z" : "");
}

struct Writer {
  std::string& out;

  void operator()(const Path& path) const {
    const char* extra = path.filled ? " area" : path.dashed ? " dashed" : "";
    fmt::format_to(std::back_inserter(out), "<path class=\"{}{}\" d=\"{}\"", name_of(path.ink),
                   extra, path_data(path.places, path.filled));
    if (!path.filled && path.width != 1) {
      fmt::format_to(std::back_inserter(out), " stroke-width=\"{}\"", number(path.width));
    }
    out += "/>\n";
  }

  void operator()(const Marker& marker) const {
    if (marker.shape == MarkerShape::circle) {
      fmt::format_to(
          std::back_inserter(out), "<circle class=\"{} mark\" cx=\"{}\" cy=\"{}\" r=\"{}\"/>\n",
          name_of(marker.ink), number(marker.at.x), number(marker.at.y), number(kMarkerRadius));
      return;
    }
    fmt::format_to(std::back_inserter(out), "<path class=\"{} mark\" d=\"{}\"/>\n",
                   name_of(marker.ink), path_data(corners_of(marker), true));
  }

  void operator()(const Label& label) const {
    constexpr const char* kAnchors[] = {"start", "middle", "end"};
    const std::string x = number(label.at.x);
    const std::string y = number(label.at.y);
    fmt::format_to(std::back_inserter(out), "<text class=\"{}\" x=\"{}\" y=\"{}\"",
                   name_of(label.ink), x, y);
    if (label.anchor != Anchor::start) {
      fmt::format_to(std::back_inserter(out), " text-anchor=\"{}\"",
                     kAnchors[static_cast<size_t>(label.anchor)]);
    }
    if (label.size != 12) {
      fmt::format_to(std::back_inserter(out), " font-size=\"{}\"", number(label.size));
    }
    if (label.strong) out += " font-weight=\"600\"";
    if (label.upwards) {
      fmt::format_to(std::back_inserter(out), " transform=\"rotate(-90 {} {})\"", x, y);
    }
    fmt::format_to(std::back_inserter(out), ">{}</text>\n", escaped(label.text));
  }
};

}  // namespace

std::string to_svg(const Chart& chart) { return to_svg(layout_of(chart)); }

std::string to_svg(const Layout& layout) {
  const std::string width = number(layout.width);
  const std::string height = number(layout.height);
  std::string out = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" "
      "viewBox=\"0 0 {0} {1}\" font-family=\"system-ui, 'DejaVu Sans', sans-serif\" "
      "font-size=\"12\">\n{2}"
      "<rect class=\"paper\" width=\"{0}\" height=\"{1}\" rx=\"6\" fill=\"currentColor\"/>\n",
      width, height, style());
  for (const auto& shape : layout.shapes) std::visit(Writer{out}, shape);
  return out + "</svg>\n";
}

}  // namespace syrtos::report
