#include "syrtos/compare/walk.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "syrtos/compare/cells.h"
#include "syrtos/compare/our_times.h"

namespace syrtos::compare {
namespace {

using testing::HasSubstr;

SideTimes side(double step, double forward, double backward, std::vector<OperatorTime> operators) {
  SideTimes times;
  times.step_s.values = {step, step * 1.01, step * 0.99};
  times.parts["load"].values = {0};
  times.parts["forward"].values = {forward};
  times.parts["backward"].values = {backward};
  times.parts["update"].values = {0.001};
  times.operators = std::move(operators);
  return times;
}

NetworkTimes times_of(SideTimes ours, SideTimes theirs) {
  NetworkTimes times;
  times.network = "net";
  times.setting = {{"batch", 42}, {"workers", 3}, {"threads", 1}};
  times.sides[{"syrtos", "sync"}] = std::move(ours);
  times.sides[{"other", "sync"}] = std::move(theirs);
  return times;
}

TEST(Walk, GoesFromTheTotalToTheOperatorThatExplainsIt) {
  const auto walks = walk_down(times_of(
      side(0.100, 0.030, 0.060,
           {{"conv", "convolution", 0.025},
            {"conv.backward_weights", "convolution weight gradient", 0.03}}),
      side(0.300, 0.040, 0.240,
           {{"Conv2D", "convolution", 0.035}, {"Filter", "convolution weight gradient", 0.2}})));
  ASSERT_EQ(walks.size(), 1U);
  EXPECT_FALSE(walks[0].noise);
  EXPECT_EQ(walks[0].parts[0].name, "backward");
  EXPECT_NEAR(walks[0].parts[0].share, 0.18 / 0.2, 1e-3);  // of 300 - 100 ms
  EXPECT_EQ(walks[0].kinds[0].name, "convolution weight gradient");
  EXPECT_THAT(walks[0].text, HasSubstr("other (sync) is 3.00 times slower than ours"));
  EXPECT_THAT(walks[0].text, HasSubstr("90 % of it in the backward pass (240.0 against 60.0 ms)"));
  EXPECT_THAT(walks[0].text,
              HasSubstr("94 % in convolution weight gradient (200.0 against 30.0 ms; "
                        "Filter, 200.0 ms)"));
}

TEST(Walk, WhatLiesWithinTheSpreadIsNoDifference) {
  SideTimes theirs = side(0.102, 0.03, 0.06, {});
  theirs.step_s.values = {0.09, 0.102, 0.12};
  const auto walks = walk_down(times_of(side(0.100, 0.03, 0.06, {}), theirs));
  ASSERT_EQ(walks.size(), 1U);
  EXPECT_TRUE(walks[0].noise);
  EXPECT_THAT(walks[0].text, HasSubstr("within the spread"));
}

TEST(Walk, TheNetworkIsWhatTrainingTogetherAdds) {
  const auto walks = walk_down(times_of(side(0.100, 0.03, 0.06, {}), side(0.500, 0.03, 0.06, {})));
  EXPECT_EQ(walks.at(0).parts[0].name, "network");
  EXPECT_NEAR(walks[0].parts[0].theirs_s, 0.5 - 0.091, 1e-9);
}

TEST(Walk, GradientsOfConvolutionsAreOneWhereASideKnowsNoDifference) {
  SideTimes ours;
  ours.operators = {{"w", "convolution weight gradient", 1}, {"d", "convolution data gradient", 2}};
  SideTimes theirs;
  theirs.operators = {{"both", "convolution gradient", 5}};
  const auto kinds = kinds_of(ours, theirs);
  ASSERT_EQ(kinds.size(), 1U);
  EXPECT_EQ(kinds[0].name, "convolution gradient");
  EXPECT_EQ(kinds[0].ours_s, 3);
  EXPECT_EQ(kinds[0].theirs_s, 5);
}

TEST(Walk, OurOperationsHaveCommonNames) {
  EXPECT_EQ(kind_of("conv"), "convolution");
  EXPECT_EQ(kind_of("conv.backward_data"), "convolution data gradient");
  EXPECT_EQ(kind_of("batch_norm.backward"), "batch norm gradient");
  EXPECT_EQ(kind_of("softmax_cross_entropy"), "loss");
  EXPECT_EQ(kind_of("max_pool.backward"), "pooling gradient");
  EXPECT_EQ(kind_of("reorder"), "moving data");
}

TEST(Cells, AreFoundAgainWithTheSameSettingsAlone) {
  const std::filesystem::path file =
      std::filesystem::temp_directory_path() / ("cells-" + std::to_string(getpid()) + ".jsonl");
  std::filesystem::remove(file);
  {
    Cells cells(file);
    cells.put("a", {{"batch", 1}}, {{"step_s", 2.5}});
  }
  std::ofstream(file, std::ios::app) << "{\"cell\": \"b\", \"sett";  // killed while it wrote
  const Cells again(file);
  ASSERT_NE(again.find("a", {{"batch", 1}}), nullptr);
  EXPECT_EQ(again.find("a", {{"batch", 1}})->at("step_s"), 2.5);
  EXPECT_EQ(again.find("a", {{"batch", 2}}), nullptr);
  EXPECT_EQ(again.find("b", {{"batch", 1}}), nullptr);
  std::filesystem::remove(file);
}

}  // namespace
}  // namespace syrtos::compare
