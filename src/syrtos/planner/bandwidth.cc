#include "syrtos/planner/bandwidth.h"

#include <charconv>
#include <cmath>

#include "syrtos/base/error.h"

namespace syrtos::planner {

namespace {

/// What one unit is in bytes per second; 0: unknown.
double bytes_per_second(std::string_view unit) {
  double factor = 1;
  constexpr std::string_view kPrefixes = "kMGT";
  if (!unit.empty() && kPrefixes.find(unit[0]) != std::string_view::npos) {
    factor = std::pow(1000.0, static_cast<double>(kPrefixes.find(unit[0]) + 1));
    unit.remove_prefix(1);
  }
  if (unit == "bit/s") return factor / 8;
  if (unit == "B/s") return factor;
  return 0;
}

}  // namespace

double parse_bandwidth(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  std::string_view unit = text.substr(static_cast<size_t>(end - text.data()));
  while (unit.starts_with(' ')) unit.remove_prefix(1);
  const double result = error == std::errc() ? value * bytes_per_second(unit) : 0;
  if (result > 0 && std::isfinite(result)) return result;
  fail_request(
      "bandwidth: expected a number above 0 with a unit, such as '1 Gbit/s' or '125 MB/s', "
      "found '{}'",
      text);
}

}  // namespace syrtos::planner
