#include "syrtos/planner/units.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <span>

#include "syrtos/base/error.h"

namespace syrtos::planner {

namespace {

struct Unit {
  std::string_view name;
  double factor;
};

constexpr Unit kBandwidths[] = {{"kbit/s", 125},   {"Mbit/s", 125e3}, {"Gbit/s", 125e6},
                                {"Tbit/s", 125e9}, {"kB/s", 1e3},     {"MB/s", 1e6},
                                {"GB/s", 1e9}};
constexpr Unit kDurations[] = {{"ns", 1e-9}, {"us", 1e-6}, {"ms", 1e-3}, {"s", 1}};
constexpr Unit kSizes[] = {{"kB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12}, {"B", 1}};

double parse(std::string_view text, std::string_view what, std::span<const Unit> units,
             std::string_view example) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  std::string_view rest(end, static_cast<size_t>(text.data() + text.size() - end));
  while (!rest.empty() && rest.front() == ' ') rest.remove_prefix(1);
  while (!rest.empty() && rest.back() == ' ') rest.remove_suffix(1);
  if (error == std::errc() && std::isfinite(number)) {
    for (const Unit& unit : units) {
      if (unit.name == rest) return number * unit.factor;
    }
  }
  std::string known;
  for (const Unit& unit : units) known += fmt::format("{}{}", known.empty() ? "" : ", ", unit.name);
  fail_request("{}: expected a number with a unit ({}), such as \"{}\", found \"{}\"", what, known,
               example, text);
}

/// With three digits, and without zeros behind the point.
std::string three_digits(double number) {
  const int decimals = number >= 99.95 ? 0 : number >= 9.995 ? 1 : 2;
  std::string text = fmt::format("{:.{}f}", number, decimals);
  if (text.find('.') == std::string::npos) return text;
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text;
}

}  // namespace

double parse_bandwidth(std::string_view text, std::string_view what) {
  return parse(text, what, kBandwidths, "1 Gbit/s");
}

double parse_duration(std::string_view text, std::string_view what) {
  return parse(text, what, kDurations, "50 us");
}

double parse_bytes(std::string_view text, std::string_view what) {
  return parse(text, what, kSizes, "16 GB");
}

std::string format_bandwidth(double bytes_per_s) {
  const double bits = bytes_per_s * 8;
  if (bits >= 0.9995e9) return three_digits(bits / 1e9) + " Gbit/s";
  if (bits >= 0.9995e6) return three_digits(bits / 1e6) + " Mbit/s";
  return three_digits(bits / 1e3) + " kbit/s";
}

std::string format_short_time(double seconds) {
  if (seconds >= 0.9995) return three_digits(seconds) + " s";
  if (seconds >= 0.9995e-3) return three_digits(seconds * 1e3) + " ms";
  return three_digits(seconds * 1e6) + " us";
}

}  // namespace syrtos::planner
