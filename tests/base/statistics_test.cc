#include "syrtos/base/statistics.h"

#include <gtest/gtest.h>

namespace syrtos {
namespace {

TEST(Statistics, SpreadIsTheStandardDeviationWithoutOutliers) {
  std::vector<double> values;
  for (int i = -100; i <= 100; ++i) values.push_back(100 + 0.1 * i);
  EXPECT_NEAR(relative_spread(values), 0.068, 0.002);
  values.push_back(1e9);
  EXPECT_NEAR(relative_spread(values), 0.068, 0.002);
  EXPECT_NEAR(median(values), 100, 0.1);
}

TEST(Statistics, TheMedianOfAnEvenNumberLiesBetweenTheTwoInTheMiddle) {
  EXPECT_EQ(median({4, 1, 2, 100}), 3);
  EXPECT_EQ(median({5, 1, 2}), 2);
  EXPECT_EQ(median({}), 0);
}

}  // namespace
}  // namespace syrtos
