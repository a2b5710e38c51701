#include "syrtos/search/sampler.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "syrtos/base/error.h"
#include "syrtos/base/format.h"
#include "syrtos/base/philox.h"

namespace syrtos::search {

namespace {

constexpr double kMostGrid = 100'000;  // each is a run with a directory
constexpr double kFewPoints = 10'000;  // of which it is looked up which are left

/// From one end, 0, to the other, 1: not as Parameter::at(), which gives each number its part.
std::string whole_between(const Parameter& parameter, double part) {
  const double value = parameter.kind == Parameter::Kind::log
                           ? parameter.low * std::pow(parameter.high / parameter.low, part)
                           : parameter.low + part * (parameter.high - parameter.low);
  return fmt::format("{:.0f}", std::round(value));
}

std::vector<std::string> grid_values(const Parameter& parameter) {
  if (parameter.kind == Parameter::Kind::choice) return parameter.choices;
  const int64_t count = parameter.points > 0 ? parameter.points : parameter.values();
  if (count == 0) {
    fail_request(
        "--sampler grid: {} has a range of real numbers: say how many of them with points = 5, "
        "list them, or use another --sampler",
        parameter.key());
  }
  const bool all = parameter.is_whole() && count >= parameter.values();
  std::vector<std::string> values;
  for (int64_t i = 0; i < (all ? parameter.values() : count); ++i) {
    const double part = count == 1 ? 0.5 : static_cast<double>(i) / static_cast<double>(count - 1);
    std::string value = all                    ? fmt::format("{:.0f}", parameter.low + i)
                        : parameter.is_whole() ? whole_between(parameter, part)
                                               : parameter.at(part);
    if (values.empty() || values.back() != value) values.push_back(std::move(value));
  }
  return values;
}

void add_points(const Space& space, const std::vector<std::vector<std::string>>& values, size_t at,
                Point& point, std::vector<Point>& points) {
  if (at == space.parameters.size()) {
    points.push_back(point);
    return;
  }
  const Parameter& parameter = space.parameters[at];
  if (!Space::counts(parameter, point)) {
    add_points(space, values, at + 1, point, points);
    return;
  }
  for (const std::string& value : values[at]) {
    point[parameter.key()] = value;
    add_points(space, values, at + 1, point, points);
  }
  point.erase(parameter.key());
}

void shuffle(std::vector<Point>& points, int64_t seed) {
  for (size_t i = points.size(); i > 1; --i) {
    const double place = random_place(seed, static_cast<uint32_t>(i), 0, 0xFFFFFFFF);
    std::swap(points[i - 1], points[static_cast<size_t>(place * static_cast<double>(i))]);
  }
}

}  // namespace

SamplerKind parse_sampler(std::string_view name) {
  if (name == "grid") return SamplerKind::grid;
  if (name == "random") return SamplerKind::random;
  if (name == "quasi") return SamplerKind::quasi;
  if (name == "tpe") return SamplerKind::tpe;
  fail_request("--sampler: expected grid, random, quasi or tpe, found '{}'{}", name,
               suggestion(name, {"grid", "random", "quasi", "tpe"}));
}

std::vector<Point> grid_points(const Plan& plan) {
  std::vector<std::vector<std::string>> values;
  for (const Parameter& parameter : plan.space.parameters) {
    // A whole range of whole numbers may be too long even to be listed.
    if (grid_size(plan) <= kMostGrid || parameter.values() == 0) {
      values.push_back(grid_values(parameter));
    }
  }
  if (const double size = grid_size(plan); size > kMostGrid) {
    fail_request(
        "--sampler grid: the space has {:.3g} points, and a grid tries each: expected at most {}; "
        "use --sampler quasi or tpe with --trials N, or fewer values",
        size, format_count(static_cast<int64_t>(kMostGrid)));
  }
  std::vector<Point> points;
  Point point;
  add_points(plan.space, values, 0, point, points);
  // Trials of a search that ends early should be anywhere, and halving compares neighbours in time.
  shuffle(points, plan.job.seed);
  return points;
}

double random_place(int64_t seed, uint32_t trial, uint32_t attempt, uint32_t dimension) {
  constexpr uint32_t kPurpose = 0x5EA2C4;
  const auto bits = static_cast<uint64_t>(seed);
  const Philox::Counter words =
      philox({static_cast<uint32_t>(bits), static_cast<uint32_t>(bits >> 32)},
             {trial, attempt, dimension, kPurpose});
  const uint64_t word = (uint64_t{words[0]} << 32 | words[1]) >> 11;
  return static_cast<double>(word) * 0x1p-53;
}

// R_d (M. Roberts, "The unreasonable effectiveness of quasirandom sequences", 2018): with g the
// root of g^(d+1) = g + 1, the n-th point has the coordinates frac(shift_i + n * g^-i), i = 1..d.
// The shift is the seed's.
std::vector<double> quasi_places(int64_t seed, uint32_t trial, size_t dimensions) {
  const double power = 1 / static_cast<double>(dimensions + 1);
  double g = 2;
  for (int i = 0; i < 100; ++i) g = std::pow(1 + g, power);
  std::vector<double> places;
  double step = 1;
  for (uint32_t i = 0; i < dimensions; ++i) {
    step /= g;
    const double place = random_place(seed, 0, 0xFFFFFFFF, i) + step * (trial + 1.0);
    places.push_back(place - std::floor(place));
  }
  return places;
}

Sampler::Sampler(const Plan& plan) : plan_(plan), kind_(parse_sampler(plan.settings.sampler)) {
  const bool countable = std::all_of(plan.space.parameters.begin(), plan.space.parameters.end(),
                                     [](const Parameter& one) { return one.values() > 0; });
  if (kind_ == SamplerKind::grid) {
    all_ = grid_points(plan);
  } else if (countable) {
    Plan whole = plan;
    for (Parameter& parameter : whole.space.parameters) parameter.points = 0;
    if (grid_size(whole) <= kFewPoints) all_ = grid_points(whole);
  }
}

std::optional<Point> Sampler::untried(const Ledger& ledger) const {
  for (const Point& point : all_) {
    if (!ledger.was_tried(point)) return point;
  }
  return std::nullopt;
}

std::optional<Point> Sampler::next(const Ledger& ledger) const {
  const auto trial = static_cast<uint32_t>(ledger.trials().size());
  // All trials were taken from here, in this order, if it is a grid.
  if (kind_ == SamplerKind::grid) {
    return trial < all_.size() ? std::optional<Point>(all_[trial]) : std::nullopt;
  }
  constexpr uint32_t kAttempts = 50;
  const size_t dimensions = plan_.space.parameters.size();
  for (uint32_t attempt = 0; attempt < kAttempts; ++attempt) {
    std::optional<Point> point;
    if (kind_ == SamplerKind::tpe) point = tpe_point(plan_, ledger, attempt);
    if (!point && kind_ != SamplerKind::random && attempt == 0) {
      point = plan_.space.at(quasi_places(plan_.job.seed, trial, dimensions));
    }
    if (!point) {
      std::vector<double> places;
      for (uint32_t i = 0; i < dimensions; ++i) {
        places.push_back(random_place(plan_.job.seed, trial, attempt, i));
      }
      point = plan_.space.at(places);
    }
    if (!ledger.was_tried(*point)) return point;
  }
  return untried(ledger);
}

}  // namespace syrtos::search
