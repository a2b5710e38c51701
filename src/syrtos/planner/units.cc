#include "syrtos/planner/units.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
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

// What people write; the first name of each factor is the one that errors show. Where the case of
// letters decides (Gb, GB) both are listed, otherwise names are compared without it.
constexpr Unit kBandwidths[] = {
    {"Gbit/s", 125e6}, {"Mbit/s", 125e3}, {"kbit/s", 125}, {"Tbit/s", 125e9}, {"GB/s", 1e9},
    {"MB/s", 1e6},     {"kB/s", 1e3},     {"Gb/s", 125e6}, {"Mb/s", 125e3},   {"kb/s", 125},
    {"GBps", 1e9},     {"MBps", 1e6},     {"Gbps", 125e6}, {"Mbps", 125e3},   {"kbps", 125},
    {"Gbit", 125e6},   {"Mbit", 125e3},   {"Gb", 125e6},   {"Mb", 125e3},     {"GbE", 125e6},
    {"Gig", 125e6},    {"GigE", 125e6},   {"G", 125e6},    {"M", 125e3},      {"GBASE-T", 125e6}};
constexpr Unit kDurations[] = {{"us", 1e-6},   {"ms", 1e-3}, {"ns", 1e-9},   {"s", 1},
                               {"usec", 1e-6}, {"µs", 1e-6}, {"μs", 1e-6},   {"msec", 1e-3},
                               {"nsec", 1e-9}, {"sec", 1},   {"seconds", 1}, {"second", 1},
                               {"minutes", 60}};
constexpr Unit kSizes[] = {{"GB", 1e9},
                           {"MB", 1e6},
                           {"kB", 1e3},
                           {"TB", 1e12},
                           {"GiB", 1073741824.0},
                           {"MiB", 1048576.0},
                           {"TiB", 1099511627776.0},
                           {"B", 1}};

bool same_but_for_case(std::string_view a, std::string_view b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), [](char x, char y) {
           return std::tolower(static_cast<unsigned char>(x)) ==
                  std::tolower(static_cast<unsigned char>(y));
         });
}

std::optional<double> factor_of(std::string_view name, std::span<const Unit> units) {
  for (const Unit& unit : units) {
    if (unit.name == name) return unit.factor;
  }
  // "gb/s" and "gbps" are bits to most; "gb" of memory is asked for among sizes only.
  const auto found = std::find_if(units.begin(), units.end(), [&](const Unit& unit) {
    const bool bytes = unit.name.find('B') == 1 && units.data() == kBandwidths;
    return same_but_for_case(unit.name, name) && !bytes;
  });
  return found == units.end() ? std::nullopt : std::optional(found->factor);
}

double parse(std::string_view text, std::string_view what, std::span<const Unit> units,
             std::string_view example) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  std::string_view rest(end, static_cast<size_t>(text.data() + text.size() - end));
  while (!rest.empty() && rest.front() == ' ') rest.remove_prefix(1);
  while (!rest.empty() && rest.back() == ' ') rest.remove_suffix(1);
  if (error == std::errc() && std::isfinite(number)) {
    if (const auto factor = factor_of(rest, units)) return number * *factor;
  }
  std::string known;
  for (const Unit& unit : units.first(4)) {
    known += fmt::format("{}{}", known.empty() ? "" : ", ", unit.name);
  }
  fail_request("{}: expected a number with a unit ({} ...), such as \"{}\", found \"{}\"", what,
               known, example, text);
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

std::optional<double> bandwidth_unit(std::string_view name) { return factor_of(name, kBandwidths); }
std::optional<double> duration_unit(std::string_view name) { return factor_of(name, kDurations); }
std::optional<double> size_unit(std::string_view name) { return factor_of(name, kSizes); }

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
