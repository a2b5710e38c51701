// The tree-structured Parzen estimator (Bergstra et al., "Algorithms for hyper-parameter
// optimization", 2011). The trials so far are divided into good ones, the best
//
//   n_good = min(ceil(gamma * n), 25),   gamma = 0.15,
//
// and the others, with those that still run: what is being tried needs not be tried again. For each
// parameter both give a density over its places from 0 to 1: l(x) of the good, g(x) of the others.
// Some points are drawn from l, and the one with the largest sum over the parameters that count of
//
//   log l(x) - log g(x)
//
// is taken: it maximises the improvement that is to be expected. A density of numbers is the mean
// of normal distributions cut at 0 and 1, one at each trial's place, as wide as the distance to the
// further of its neighbours, between 1/min(100, n + 1) and 1, and one of width 1 at 1/2, which
// keeps every place possible. Of k choices it is (1 + how often) / (k + n). Every fifth trial is
// spread evenly instead: what was unlucky at first would never be tried again.

#include <algorithm>
#include <cmath>
#include <numbers>

#include "syrtos/search/sampler.h"

namespace syrtos::search {

namespace {

constexpr size_t kFirst = 10;        // trials that are spread evenly before
constexpr uint32_t kSpread = 5;      // one of so many is, afterwards
constexpr uint32_t kCandidates = 8;  // drawn from l
constexpr size_t kMostOthers = 100;  // that g is made of: more make it slower, and no better
constexpr double kGamma = 0.15;
constexpr size_t kMostGood = 25;

double normal_below(double x) { return 0.5 * std::erfc(-x / std::numbers::sqrt2); }

struct Bump {
  double centre = 0.5;
  double width = 1;
  double inside = 1;  // the part of it from 0 to 1
};

/// The places of one parameter in some trials.
class Density {
 public:
  Density(const Parameter& parameter, std::vector<double> places) {
    if (parameter.kind == Parameter::Kind::choice) {
      shares_.assign(parameter.choices.size(), 1);
      for (const double place : places) shares_[index_of(place)] += 1;
      for (double& share : shares_) share /= static_cast<double>(places.size() + shares_.size());
      return;
    }
    places.push_back(0.5);
    std::sort(places.begin(), places.end());
    const double least = 1 / std::min(100.0, static_cast<double>(places.size()));
    for (size_t i = 0; i < places.size(); ++i) {
      const double before = i == 0 ? 0 : places[i - 1];
      const double after = i + 1 == places.size() ? 1 : places[i + 1];
      const double width = std::clamp(std::max(places[i] - before, after - places[i]), least, 1.0);
      bumps_.push_back(bump(places[i], width));
    }
    bumps_.push_back(bump(0.5, 1));
  }

  double log_at(double place) const {
    if (!shares_.empty()) return std::log(shares_[index_of(place)]);
    double sum = 0;
    for (const Bump& one : bumps_) {
      const double x = (place - one.centre) / one.width;
      sum += std::exp(-0.5 * x * x) / (one.width * one.inside);
    }
    return std::log(sum / static_cast<double>(bumps_.size()) + 1e-300);
  }

  /// A place drawn from it by two numbers from 0 to 1.
  double draw(double which, double where) const {
    if (!shares_.empty()) {
      double sum = 0;
      for (size_t i = 0; i < shares_.size(); ++i) {
        sum += shares_[i];
        if (which < sum || i + 1 == shares_.size()) {
          return (static_cast<double>(i) + 0.5) / static_cast<double>(shares_.size());
        }
      }
    }
    const auto at = static_cast<size_t>(which * static_cast<double>(bumps_.size()));
    const Bump& one = bumps_[std::min(at, bumps_.size() - 1)];
    // The place below which the part `where` of the cut distribution lies, by halving.
    const double target = normal_below(-one.centre / one.width) + where * one.inside;
    double low = 0;
    double high = 1;
    for (int i = 0; i < 40; ++i) {
      const double middle = (low + high) / 2;
      (normal_below((middle - one.centre) / one.width) < target ? low : high) = middle;
    }
    return low;
  }

 private:
  static Bump bump(double centre, double width) {
    return {centre, width, normal_below((1 - centre) / width) - normal_below(-centre / width)};
  }
  size_t index_of(double place) const {
    return std::min(static_cast<size_t>(place * static_cast<double>(shares_.size())),
                    shares_.size() - 1);
  }

  std::vector<double> shares_;  // of choices
  std::vector<Bump> bumps_;     // of numbers
};

struct Divided {
  std::vector<const Trial*> good, others;
};

/// The best are those that came furthest, if halving has let only some go on.
std::optional<Divided> divide(const Plan& plan, const Ledger& ledger) {
  struct Ranked {
    const Trial* trial;
    size_t rung;
    double value;
  };
  const std::vector<int64_t> rungs = plan.rungs();
  std::vector<Ranked> ranked;
  Divided divided;
  for (const Trial& trial : ledger.trials()) {
    const std::optional<Score> best = ledger.best_of(trial);
    const bool told = best && (trial.state == TrialState::paused || trial.has_ended());
    if (!told || trial.state == TrialState::failed) {
      divided.others.push_back(&trial);
      continue;
    }
    const auto reached = std::count_if(rungs.begin(), rungs.end(),
                                       [&](int64_t rung) { return rung <= trial.epoch; });
    ranked.push_back({&trial, static_cast<size_t>(reached), best->value});
  }
  if (ranked.size() < kFirst) return std::nullopt;
  std::stable_sort(ranked.begin(), ranked.end(), [&](const Ranked& a, const Ranked& b) {
    if (a.rung != b.rung) return a.rung > b.rung;
    return ledger.is_better(a.value, b.value);
  });
  const size_t good = std::min(
      kMostGood, static_cast<size_t>(std::ceil(kGamma * static_cast<double>(ranked.size()))));
  for (size_t i = 0; i < ranked.size(); ++i) {
    (i < good ? divided.good : divided.others).push_back(ranked[i].trial);
  }
  // The newest are near what is asked about now.
  if (divided.others.size() > kMostOthers) {
    std::sort(divided.others.begin(), divided.others.end(),
              [](const Trial* a, const Trial* b) { return a->number > b->number; });
    divided.others.resize(kMostOthers);
  }
  return divided;
}

Density density_of(const Parameter& parameter, const std::vector<const Trial*>& trials) {
  std::vector<double> places;
  for (const Trial* trial : trials) {
    const auto value = trial->point.find(parameter.key());
    if (value != trial->point.end()) places.push_back(parameter.place_of(value->second));
  }
  return {parameter, std::move(places)};
}

}  // namespace

std::optional<Point> tpe_point(const Plan& plan, const Ledger& ledger, uint32_t attempt) {
  const auto trial = static_cast<uint32_t>(ledger.trials().size());
  if (trial % kSpread == 0) return std::nullopt;
  const std::optional<Divided> divided = divide(plan, ledger);
  if (!divided) return std::nullopt;
  const std::vector<Parameter>& parameters = plan.space.parameters;
  std::vector<Density> good;
  std::vector<Density> others;
  for (const Parameter& parameter : parameters) {
    good.push_back(density_of(parameter, divided->good));
    others.push_back(density_of(parameter, divided->others));
  }
  std::optional<Point> best;
  double best_gain = 0;
  for (uint32_t candidate = 0; candidate < kCandidates; ++candidate) {
    const uint32_t draw = 1 + attempt * kCandidates + candidate;
    std::vector<double> places;
    for (uint32_t i = 0; i < parameters.size(); ++i) {
      places.push_back(good[i].draw(random_place(plan.job.seed, trial, draw, 2 * i),
                                    random_place(plan.job.seed, trial, draw, 2 * i + 1)));
    }
    const Point point = plan.space.at(places);
    double gain = 0;
    for (size_t i = 0; i < parameters.size(); ++i) {
      if (!point.contains(parameters[i].key())) continue;
      gain += good[i].log_at(places[i]) - others[i].log_at(places[i]);
    }
    if (best && gain <= best_gain) continue;
    best = point;
    best_gain = gain;
  }
  return best;
}

}  // namespace syrtos::search
