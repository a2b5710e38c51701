#include "syrtos/strategy/links.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "syrtos/base/error.h"

namespace syrtos::strategy {

namespace {

struct Unit {
  std::string_view name;
  double factor;
};

/// "60us" in the first unit that fits; none: it is not a number above 0 with one of them.
std::optional<double> quantity(std::string_view text, std::initializer_list<Unit> units) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || !std::isfinite(number) || number <= 0) return {};
  std::string_view unit = text.substr(static_cast<size_t>(end - text.data()));
  while (unit.starts_with(' ')) unit.remove_prefix(1);
  for (const Unit& one : units) {
    if (unit == one.name) return number * one.factor;
  }
  return {};
}

/// To three digits.
double rounded(double value) {
  const double digit = std::pow(10, std::floor(std::log10(value)) - 2);
  return std::round(value / digit) * digit;
}

}  // namespace

std::string to_string(const collective::LinkSpeed& link) {
  return fmt::format("{:g}us,{:g}MB/s", rounded(link.latency_s * 1e6),
                     rounded(link.bytes_per_s * 1e-6));
}

std::optional<collective::LinkSpeed> parse_links(std::string_view text) {
  if (text == "auto") return {};
  const size_t comma = std::min(text.find(','), text.size());
  std::string_view second = text.substr(std::min(comma + 1, text.size()));
  while (second.starts_with(' ')) second.remove_prefix(1);
  const auto latency = quantity(text.substr(0, comma), {{"us", 1e-6}, {"ms", 1e-3}, {"s", 1}});
  const auto bandwidth = quantity(second, {{"MB/s", 1e6}, {"GB/s", 1e9}});
  if (latency && bandwidth) return collective::LinkSpeed{*latency, *bandwidth};
  fail_request("--links: expected auto, or latency and bandwidth such as 60us,117MB/s, found '{}'",
               text);
}

collective::LinkSpeed as_written(const collective::LinkSpeed& link) {
  return *parse_links(to_string(link));
}

}  // namespace syrtos::strategy
