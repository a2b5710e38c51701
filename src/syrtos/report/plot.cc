#include "syrtos/report/plot.h"

#include <fmt/format.h>

#include <cctype>
#include <cmath>

#include "syrtos/base/error.h"
#include "syrtos/base/files.h"
#include "syrtos/report/ticks.h"

namespace syrtos::report {

namespace {

std::string extension_of(const std::filesystem::path& file) {
  std::string extension = file.extension().string();
  for (char& letter : extension) {
    letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  }
  return extension;
}

Series guide(std::string name, LineStyle line, const Point& from, const Point& to) {
  return {.name = std::move(name), .points = {from, to}, .line = line, .guide = true};
}

}  // namespace

Chart compare_chart(std::string title, std::string x_label, std::string y_label,
                    std::vector<Series> series, double tolerance) {
  SYRTOS_CHECK(tolerance > 0 && tolerance < 0.5, "tolerance {}", tolerance);
  Axis axis = {.scale = Scale::log};
  std::vector<double> values;
  for (const Series& one : series) {
    for (const Point& point : one.points) {
      if (!shown(axis, point.x) || !shown(axis, point.y)) continue;
      values.insert(values.end(), {point.x, point.y});
      for (const auto& end : {point.low, point.high}) {
        if (end) values.push_back(*end);
      }
    }
  }
  const Range range = range_of(axis, values, 1, false);
  axis.from = range.from;
  axis.to = range.to;
  const double more = 1 + tolerance;
  const double less = 1 - tolerance;
  Chart chart = {.title = std::move(title), .x = axis, .y = axis};
  chart.x.label = std::move(x_label);
  chart.y.label = std::move(y_label);
  chart.square = true;
  chart.series = std::move(series);
  for (Series& one : chart.series) one.line = LineStyle::none;
  const double from = range.from;
  const double to = range.to;
  chart.series.push_back(guide("equal", LineStyle::solid, {from, from}, {to, to}));
  chart.series.push_back(guide(fmt::format("{:.3g} % more or less", tolerance * 100),
                               LineStyle::dashed, {from, from * more}, {to / more, to}));
  chart.series.push_back(guide("", LineStyle::dashed, {from / less, from}, {to, to * less}));
  return chart;
}

bool can_write_chart(const std::filesystem::path& file) {
  const std::string extension = extension_of(file);
  return extension == ".svg" || extension == ".png";
}

void write_chart(const Chart& chart, const std::filesystem::path& file) {
  if (!can_write_chart(file)) {
    fail_request("{}: expected a name that ends with .svg or .png, found '{}'", file.string(),
                 file.extension().string());
  }
  const std::string bytes = extension_of(file) == ".svg" ? to_svg(chart) : to_png(chart);
  AtomicFile out(file);
  out.write(bytes);
  out.commit();
}

}  // namespace syrtos::report
