#include "syrtos/optim/early_stopping.h"

#include <gtest/gtest.h>

namespace syrtos::optim {
namespace {

TEST(EarlyStopping, StopsAfterSoManyEpochsWithoutImprovement) {
  EarlyStopping watch(EarlyStopping::Mode::highest, 2, 0);
  EXPECT_TRUE(watch.update(0.5));
  EXPECT_TRUE(watch.update(0.6));
  EXPECT_FALSE(watch.update(0.6));
  EXPECT_FALSE(watch.should_stop());
  EXPECT_FALSE(watch.update(0.55));
  EXPECT_TRUE(watch.should_stop());
  EXPECT_DOUBLE_EQ(watch.best(), 0.6);
}

TEST(EarlyStopping, AnImprovementMustExceedTheLeastChange) {
  EarlyStopping watch(EarlyStopping::Mode::lowest, 1, 0.1);
  EXPECT_TRUE(watch.update(1.0));
  EXPECT_FALSE(watch.update(0.95));
  EXPECT_TRUE(watch.should_stop());
  EXPECT_TRUE(watch.update(0.8));
  EXPECT_FALSE(watch.should_stop());
}

TEST(EarlyStopping, NanIsNeverTheBest) {
  EarlyStopping watch(EarlyStopping::Mode::lowest, 3, 0);
  EXPECT_FALSE(watch.update(std::nan("")));
  EXPECT_TRUE(watch.update(5));
  EXPECT_FALSE(watch.update(std::nan("")));
  EXPECT_DOUBLE_EQ(watch.best(), 5);
}

TEST(EarlyStopping, WithoutPatienceItOnlyKnowsTheBest) {
  EarlyStopping watch(EarlyStopping::Mode::lowest, 0, 0);
  watch.update(1);
  for (int epoch = 0; epoch < 100; ++epoch) watch.update(2);
  EXPECT_FALSE(watch.should_stop());
}

TEST(EarlyStopping, GoesOnFromWhereItWas) {
  EarlyStopping watch(EarlyStopping::Mode::highest, 3, 0);
  watch.restore(0.9, 2);
  EXPECT_FALSE(watch.update(0.8));
  EXPECT_TRUE(watch.should_stop());
}

}  // namespace
}  // namespace syrtos::optim
