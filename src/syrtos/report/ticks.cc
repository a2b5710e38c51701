#include "syrtos/report/ticks.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace syrtos::report {

namespace {

constexpr double kAlmost = 1e-9;  // of a step: rounding must not lose a tick

// The smallest of 1, 2, 5 times a power of ten that makes at most `most` steps.
double round_step(double span, int most, bool whole) {
  const double least = span / most;
  double step = std::pow(10, std::floor(std::log10(least)));
  for (const double factor : {1.0, 2.0, 5.0, 10.0}) {
    if (step * factor >= least * (1 - kAlmost)) {
      step *= factor;
      break;
    }
  }
  return whole ? std::max(1.0, step) : step;
}

std::string without_zeros(double value, int decimals) {
  std::string text = fmt::format("{:.{}f}", value, decimals);
  if (text.find('.') != std::string::npos) {
    text.erase(text.find_last_not_of('0') + 1);
    if (text.ends_with('.')) text.pop_back();
  }
  return text == "-0" ? "0" : text;
}

struct Unit {
  double factor;
  const char* suffix;
};

Unit unit_for(double largest) {
  if (largest >= 1e15) return {1, ""};
  if (largest >= 1e12) return {1e12, "T"};
  if (largest >= 1e9) return {1e9, "G"};
  if (largest >= 1e6) return {1e6, "M"};
  if (largest >= 1e4) return {1e3, "k"};
  return {1, ""};
}

// All labels of a linear axis share the unit of the largest.
std::string label_of(double value, double step, double largest) {
  if (std::abs(value) < step * kAlmost) return "0";
  if (largest < 1e-3 || largest >= 1e15) return fmt::format("{:.6g}", value);
  const Unit unit = unit_for(largest);
  const int decimals = static_cast<int>(std::ceil(-std::log10(step / unit.factor) - kAlmost));
  return without_zeros(value / unit.factor, std::clamp(decimals, 0, 12)) + unit.suffix;
}

std::vector<Tick> ticks_between(double from, double to, double step) {
  const double largest = std::max(std::abs(from), std::abs(to));
  std::vector<Tick> ticks;
  const double first = std::ceil(from / step - kAlmost);
  const double last = std::floor(to / step + kAlmost);
  for (double i = first; i <= last; ++i) {
    ticks.push_back({i * step, label_of(i * step, step, largest)});
  }
  return ticks;
}

Range linear_range(double low, double high, const Axis& axis, int most, bool tight) {
  // A single value stands in the middle; so do values that differ by rounding alone.
  if (high - low <= 1e-12 * std::max(std::abs(low), std::abs(high))) {
    const double beside = axis.whole ? 0.5 : (low == 0 ? 1 : std::abs(low) / 2);
    low -= beside;
    high += beside;
    tight = tight || axis.whole;
  }
  const double step = round_step(high - low, most, axis.whole);
  Range range = {Scale::linear, low, high, {}};
  if (!tight) {
    range.from = std::floor(low / step + kAlmost) * step;
    range.to = std::ceil(high / step - kAlmost) * step;
  }
  range.ticks = ticks_between(range.from, range.to, step);
  return range;
}

// 1, 2, 5, 10, 20 ...: the i-th of them around 1.
double log_stop(int i) {
  constexpr std::array<double, 3> kStops = {1, 2, 5};
  const int decade = static_cast<int>(std::floor(i / 3.0));
  return kStops[static_cast<size_t>(i - 3 * decade)] * std::pow(10, decade);
}

Range log_range(double low, double high, const Axis& axis, int most) {
  int first = 3 * static_cast<int>(std::floor(std::log10(low)));
  while (log_stop(first + 1) <= low * (1 + kAlmost)) ++first;
  int last = first + 1;
  while (log_stop(last) < high * (1 - kAlmost)) ++last;
  Range range = {Scale::log, log_stop(first), log_stop(last), {}};
  // Every stop, or decades alone, or every few decades.
  const int decades = std::max(1, (last - first) / 3);
  const int each = last - first <= most ? 1 : 3 * std::max(1, (decades + most - 1) / most);
  for (int i = first; i <= last; ++i) {
    const double value = log_stop(i);
    const bool kept = i % each == 0 && (!axis.whole || value >= 1);
    if (kept) range.ticks.push_back({value, label_of(value, value, value)});
  }
  return range;
}

}  // namespace

double Range::position(double value) const {
  if (scale == Scale::linear) return (value - from) / (to - from);
  return std::log(value / from) / std::log(to / from);
}

bool shown(const Axis& axis, double value) {
  return std::isfinite(value) && std::abs(value) < 1e150 &&
         (axis.scale == Scale::linear || value > 1e-150);
}

bool visible(const Chart& chart, const Point& point) {
  return shown(chart.x, point.x) && shown(chart.y, point.y);
}

bool spread_visible(const Chart& chart, const Point& point) {
  return visible(chart, point) && point.low && point.high && shown(chart.y, *point.low) &&
         shown(chart.y, *point.high);
}

Extent extent_of(const Chart& chart) {
  Extent extent;
  for (const Series& series : chart.series) {
    extent.lines = extent.lines || (!series.guide && series.line != LineStyle::none);
    for (const Point& point : series.points) {
      if (!visible(chart, point)) continue;
      extent.xs.push_back(point.x);
      extent.ys.push_back(point.y);
      if (!spread_visible(chart, point)) continue;
      extent.ys.insert(extent.ys.end(), {*point.low, *point.high});
    }
  }
  return extent;
}

Range range_of(const Axis& axis, const std::vector<double>& values, int most_ticks, bool tight) {
  std::vector<double> all;
  for (const double value : values) {
    if (shown(axis, value)) all.push_back(value);
  }
  for (const std::optional<double>& end : {axis.from, axis.to}) {
    if (end && shown(axis, *end)) all.push_back(*end);
  }
  if (all.empty()) all = axis.scale == Scale::log ? std::vector{1.0, 10.0} : std::vector{0.0, 1.0};
  const auto [low, high] = std::minmax_element(all.begin(), all.end());
  if (axis.scale == Scale::log) return log_range(*low, *high, axis, most_ticks);
  return linear_range(*low, *high, axis, most_ticks, tight);
}

}  // namespace syrtos::report
