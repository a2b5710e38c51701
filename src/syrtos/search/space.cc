#include "syrtos/search/space.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "syrtos/base/error.h"

namespace syrtos::search {

namespace {

/// With four digits that count: people read them, and nobody can tell the difference.
double rounded(double value) {
  if (value == 0) return 0;
  const double unit = std::pow(10.0, std::floor(std::log10(std::abs(value))) - 3);
  // By way of text, which is exact where multiplying leaves 0.0012340000000000001.
  return std::stod(fmt::format("{:.4g}", std::round(value / unit) * unit));
}

}  // namespace

bool Parameter::is_whole() const {
  return std::holds_alternative<int64_t job::JobRequest::*>(field->member);
}

int64_t Parameter::values() const {
  if (kind == Kind::choice) return static_cast<int64_t>(choices.size());
  return is_whole() ? static_cast<int64_t>(high - low) + 1 : 0;
}

std::string Parameter::at(double place) const {
  if (kind == Kind::choice) {
    const auto count = static_cast<double>(choices.size());
    return choices[static_cast<size_t>(std::min(place * count, count - 1))];
  }
  // Whole numbers have a part of equal size each, so the ends reach half a number further.
  const double edge = is_whole() ? 0.5 : 0;
  double value = 0;
  if (kind == Kind::log) {
    const double least = std::max(low - edge, low / 2);
    value = least * std::pow((high + edge) / least, place);
  } else {
    value = low - edge + place * (high - low + 2 * edge);
  }
  value = std::clamp(is_whole() ? std::round(value) : rounded(value), low, high) + 0.0;  // no -0
  return is_whole() ? fmt::format("{:.0f}", value) : fmt::format("{}", value);
}

double Parameter::place_of(const std::string& value) const {
  if (kind == Kind::choice) {
    const auto found = std::find(choices.begin(), choices.end(), value);
    SYRTOS_CHECK(found != choices.end(), "{} is no choice of {}", value, key());
    return (static_cast<double>(found - choices.begin()) + 0.5) /
           static_cast<double>(choices.size());
  }
  const double number = std::stod(value);
  const double edge = is_whole() ? 0.5 : 0;
  double place = 0;
  if (kind == Kind::log) {
    const double least = std::max(low - edge, low / 2);
    place = std::log(number / least) / std::log((high + edge) / least);
  } else {
    place = (number - low + edge) / (high - low + 2 * edge);
  }
  return std::clamp(place, 0.0, 1.0);
}

bool Space::counts(const Parameter& parameter, const Point& point) {
  return std::all_of(parameter.when.begin(), parameter.when.end(), [&](const Condition& condition) {
    const auto found = point.find(condition.key);
    return found != point.end() && std::find(condition.values.begin(), condition.values.end(),
                                             found->second) != condition.values.end();
  });
}

Point Space::at(std::span<const double> places) const {
  SYRTOS_CHECK(places.size() == parameters.size());
  Point point;
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (counts(parameters[i], point)) point[parameters[i].key()] = parameters[i].at(places[i]);
  }
  return point;
}

void apply(const Point& point, job::JobRequest& job) {
  for (const auto& [key, value] : point) {
    const job::JobField* field = job::find_field(key);
    SYRTOS_CHECK(field != nullptr, "{}", key);
    job::set_field(job, *field, value, field->option);
  }
}

std::string to_string(const Point& point) {
  std::string text;
  for (const auto& [key, value] : point) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", job::find_field(key)->option.substr(2),
                        value);
  }
  return text.empty() ? "nothing" : text;
}

}  // namespace syrtos::search
