#include <gtest/gtest.h>

#include <iostream>
#include <map>

#include "tests/strategy/verdict.h"

// Training under thousands of disasters, each made by its seed. To repeat one, or to run many:
//   strategy_test --gtest_also_run_disabled_tests --gtest_filter='*OneSeed'
//   --gtest_random_seed=4711 strategy_test --gtest_also_run_disabled_tests
//   --gtest_filter='*TenThousandSeeds'

namespace syrtos::strategy {
namespace {

constexpr uint64_t kBlock = 250;

/// Runs of each kind.
using Counts = std::map<std::string, int>;

bool same(const Outcome& a, const Outcome& b) {
  if (a.trace != b.trace || a.seconds != b.seconds || a.staleness != b.staleness) return false;
  for (size_t rank = 0; rank < a.ranks.size(); ++rank) {
    if (a.ranks[rank].weights != b.ranks[rank].weights) return false;
    if ((a.errors[rank] == nullptr) != (b.errors[rank] == nullptr)) return false;
  }
  return true;
}

void count_disaster(const Scenario& scenario, const Outcome& outcome, Counts& counts) {
  const Losses losses(scenario, outcome);
  if (!losses.any()) {
    ++counts["disaster: too late to matter"];
    return;
  }
  ++counts[scenario.disaster == Scenario::Disaster::crash ? "disaster: crash" : "disaster: cut"];
  const auto completed = std::count(outcome.errors.begin(), outcome.errors.end(), nullptr);
  ++counts[completed == 0       ? "afterwards: nobody goes on"
           : losses.can_go_on() ? "afterwards: survivors go on"
                                : "afterwards: some had ended"];
}

void run_seed(uint64_t seed, Counts& counts) {
  const Scenario scenario = make_scenario(seed);
  ++counts["exchange: " + to_string(scenario.options.exchange)];
  ++counts["sync: " + to_string(scenario.options.sync)];
  ++counts["wire: " + to_string(scenario.options.wire)];
  const Outcome calm = run_calm(scenario);
  ++counts["runs"];
  EXPECT_EQ(verdict_of_calm(scenario, calm), "") << "before its disaster, " << to_string(scenario);
  Outcome last = calm;
  if (scenario.disaster != Scenario::Disaster::none) {
    last = run_disaster(scenario, calm.seconds);
    ++counts["runs"];
    EXPECT_EQ(verdict_of_disaster(scenario, last, calm.seconds), "") << to_string(scenario);
    count_disaster(scenario, last, counts);
  }
  if (seed % 16 != 0) return;
  const bool calmly = scenario.disaster == Scenario::Disaster::none;
  EXPECT_TRUE(same(last, calmly ? run_calm(scenario) : run_disaster(scenario, calm.seconds)))
      << "the second time it went another way, " << to_string(scenario);
}

void run_seeds(uint64_t first, uint64_t count, Counts& counts) {
  for (uint64_t seed = first; seed < first + count; ++seed) run_seed(seed, counts);
}

/// By --gtest_random_seed: a seed, or which ten thousand.
uint64_t chosen() { return static_cast<uint64_t>(GTEST_FLAG_GET(random_seed)); }

class Disasters : public testing::TestWithParam<uint64_t> {};

TEST_P(Disasters, EndWellOrWithTheRankThatIsLost) {
  Counts counts;
  run_seeds(GetParam() * kBlock, kBlock, counts);
}

INSTANTIATE_TEST_SUITE_P(Seeds, Disasters, testing::Range<uint64_t>(0, 6));

TEST(Disaster, DISABLED_TenThousandSeeds) {
  Counts counts;
  run_seeds(chosen() * 10'000, 10'000, counts);
  for (const auto& [what, count] : counts) std::cout << fmt::format("{:8} {}\n", count, what);
}

TEST(Disaster, DISABLED_OneSeed) {
  Counts counts;
  std::cout << to_string(make_scenario(chosen())) << '\n';
  run_seed(chosen(), counts);
}

}  // namespace
}  // namespace syrtos::strategy
