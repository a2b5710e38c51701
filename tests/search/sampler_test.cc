#include "syrtos/search/sampler.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

namespace syrtos::search {
namespace {

TEST(Quasi, LeavesNoGaps) {
  // Every tenth of the unit interval, in each dimension, gets its share of the first 200 points,
  // and every cell of 5 x 5 in two dimensions is hit by the first 60, of which chance leaves two
  // out.
  std::vector<std::vector<int>> hits(3, std::vector<int>(10, 0));
  std::set<int> cells;
  for (uint32_t trial = 0; trial < 200; ++trial) {
    const std::vector<double> places = quasi_places(7, trial, 3);
    for (size_t i = 0; i < 3; ++i) ++hits[i][static_cast<size_t>(places[i] * 10)];
    if (trial < 60)
      cells.insert(static_cast<int>(places[0] * 5) * 5 + static_cast<int>(places[1] * 5));
  }
  for (const auto& dimension : hits) {
    for (const int count : dimension) EXPECT_NEAR(count, 20, 6);
  }
  EXPECT_EQ(cells.size(), 25u);
}

TEST(Random, IsAPureFunctionThatFillsTheInterval) {
  double sum = 0;
  for (uint32_t trial = 0; trial < 10'000; ++trial) {
    const double place = random_place(3, trial, 0, 1);
    EXPECT_GE(place, 0);
    EXPECT_LT(place, 1);
    EXPECT_EQ(place, random_place(3, trial, 0, 1));
    sum += place;
  }
  EXPECT_NEAR(sum / 10'000, 0.5, 0.01);
  EXPECT_NE(random_place(3, 1, 0, 1), random_place(4, 1, 0, 1));
}

TEST(Sampler, TriesEveryPointOfASmallSpaceOnce) {
  const Plan plan = parse_plan(
      "[space]\nbatch = [1, 2, 3]\nseed = { range = [1, 4] }\n[search]\nsampler = \"random\"",
      "space.toml");
  const Sampler sampler(plan);
  Ledger ledger(true);
  std::set<Point> points;
  while (const auto point = sampler.next(ledger)) {
    ledger.add({.kind = Event::Kind::trial, .point = *point});
    points.insert(*point);
    ASSERT_LE(ledger.trials().size(), 12u);
  }
  EXPECT_EQ(points.size(), 12u);
}

TEST(Grid, HasEveryWholeNumber) {
  const auto batches = [](const std::string& range) {
    std::set<int> found;
    const Plan plan = parse_plan("[space]\nbatch = { " + range + " }\n", "space.toml");
    for (const Point& point : grid_points(plan)) {
      EXPECT_TRUE(found.insert(std::stoi(point.at("batch"))).second) << point.at("batch");
    }
    return found;
  };
  for (const std::string kind : {"log", "range"}) {
    for (const std::string points : {"", ", points = 100", ", points = 250"}) {
      const std::set<int> found = batches(kind + " = [1, 100]" + points);
      EXPECT_EQ(found.size(), 100u) << kind << points;
      EXPECT_EQ(*found.begin(), 1);
      EXPECT_EQ(*found.rbegin(), 100);
    }
  }
  EXPECT_EQ(batches("log = [1, 64], points = 7"), (std::set<int>{1, 2, 4, 8, 16, 32, 64}));
}

/// Minimises a function of the points that a sampler proposes; the best after so many.
double minimise(const std::string& sampler, int64_t seed, int trials) {
  Plan plan = parse_plan(
      "[space]\noptimizer.lr = { log = [0.0001, 10.0] }\nclip = { range = [-5.0, 5.0] }\n"
      "optimizer.name = [\"adam\", \"sgd\", \"momentum\"]\n"
      "optimizer.beta1 = { range = [0.0, 1.0], when = { optimizer.name = \"adam\" } }\n",
      "space.toml");
  plan.settings.sampler = sampler;
  plan.job.seed = seed;
  const Sampler next(plan);
  Ledger ledger(false);
  for (int i = 1; i <= trials; ++i) {
    const Point point = *next.next(ledger);
    const double x = std::log10(std::stod(point.at("optimizer.lr"))) - 0.3;
    const double y = std::stod(point.at("clip")) - 2;
    double value = x * x + y * y / 4;
    if (point.at("optimizer.name") == "adam") {
      value += 4 * std::pow(std::stod(point.at("optimizer.beta1")) - 0.7, 2);
    } else {
      value += point.at("optimizer.name") == "sgd" ? 2 : 1;
    }
    ledger.add({.kind = Event::Kind::trial, .point = point});
    ledger.add({.kind = Event::Kind::start, .trial = i});
    ledger.add({.kind = Event::Kind::epoch, .trial = i, .epoch = 1, .value = value});
    ledger.add({.kind = Event::Kind::end, .trial = i, .end = PieceEnd::complete});
  }
  return ledger.best_of(*ledger.best())->value;
}

TEST(Tpe, FindsBetterPointsThanChance) {
  int better = 0;
  double tpe = 0;
  double random = 0;
  for (int64_t seed = 1; seed <= 20; ++seed) {
    const double one = minimise("tpe", seed, 60);
    const double other = minimise("random", seed, 60);
    better += one < other ? 1 : 0;
    tpe += one / 20;
    random += other / 20;
  }
  EXPECT_GE(better, 14);
  EXPECT_LT(tpe, random / 2);
}

}  // namespace
}  // namespace syrtos::search
