#include "syrtos/optim/schedule.h"

#include <gtest/gtest.h>

#include "syrtos/base/error.h"

namespace syrtos::optim {
namespace {

TEST(Schedule, ConstantStays) {
  const Schedule schedule{.rate = 0.3, .total_steps = 10};
  for (const int64_t step : {0, 5, 9, 100}) EXPECT_DOUBLE_EQ(learning_rate(schedule, step), 0.3);
}

TEST(Schedule, StepMultipliesByTheFactorEverySoManySteps) {
  const Schedule schedule{
      .kind = ScheduleKind::step, .rate = 1, .total_steps = 30, .every = 10, .factor = 0.1};
  EXPECT_DOUBLE_EQ(learning_rate(schedule, 9), 1);
  EXPECT_NEAR(learning_rate(schedule, 10), 0.1, 1e-12);
  EXPECT_NEAR(learning_rate(schedule, 29), 0.01, 1e-12);
}

TEST(Schedule, CosineStartsAtTheRateAndEndsAtTheFloor) {
  const Schedule schedule{
      .kind = ScheduleKind::cosine, .rate = 2, .total_steps = 101, .floor = 0.1};
  EXPECT_DOUBLE_EQ(learning_rate(schedule, 0), 2);
  EXPECT_NEAR(learning_rate(schedule, 50), 1.1, 1e-12);
  EXPECT_NEAR(learning_rate(schedule, 100), 0.2, 1e-12);
  EXPECT_NEAR(learning_rate(schedule, 500), 0.2, 1e-12);
}

TEST(Schedule, EachCycleIsAWholeSchedule) {
  const Schedule once{
      .kind = ScheduleKind::cosine, .rate = 2, .total_steps = 20, .warmup_steps = 3, .floor = 0.1};
  Schedule schedule = once;
  schedule.total_steps = 60;
  schedule.cycles = 3;
  for (int64_t step = 0; step < 60; ++step) {
    EXPECT_DOUBLE_EQ(learning_rate(schedule, step), learning_rate(once, step % 20)) << step;
  }
  EXPECT_DOUBLE_EQ(learning_rate(schedule, 100), learning_rate(once, 100));
  schedule.cycles = 0;
  EXPECT_THROW(check(schedule), RequestError);
}

TEST(Schedule, TriangularGoesUpAndDownAgainAndAgain) {
  const Schedule schedule{
      .kind = ScheduleKind::triangular, .rate = 1, .total_steps = 100, .every = 20, .floor = 0.2};
  EXPECT_NEAR(learning_rate(schedule, 0), 0.2, 1e-12);
  EXPECT_NEAR(learning_rate(schedule, 5), 0.6, 1e-12);
  EXPECT_NEAR(learning_rate(schedule, 10), 1, 1e-12);
  EXPECT_NEAR(learning_rate(schedule, 15), 0.6, 1e-12);
  EXPECT_NEAR(learning_rate(schedule, 30), 1, 1e-12);
}

TEST(Schedule, TriangleGoesStraightUpToItsPeakAndDownToItsEnd) {
  const Schedule schedule{.kind = ScheduleKind::triangle,
                          .rate = 2,
                          .total_steps = 101,
                          .peak = 0.25,
                          .start = 0.2,
                          .end = 0.05};
  EXPECT_NEAR(learning_rate(schedule, 0), 0.4, 1e-12);
  EXPECT_NEAR(learning_rate(schedule, 5), 0.4 + 1.6 / 5, 1e-12);
  EXPECT_NEAR(learning_rate(schedule, 25), 2, 1e-12);
  EXPECT_NEAR(learning_rate(schedule, 40), 2 - 1.9 / 5, 1e-12);
  EXPECT_NEAR(learning_rate(schedule, 100), 0.1, 1e-12);
  EXPECT_NEAR(learning_rate(schedule, 200), 0.1, 1e-12);
}

TEST(Schedule, OneCyclePeaksWhereAsked) {
  const Schedule schedule{
      .kind = ScheduleKind::one_cycle, .rate = 1, .total_steps = 101, .peak = 0.3};
  EXPECT_NEAR(learning_rate(schedule, 0), 0.04, 1e-12);
  EXPECT_NEAR(learning_rate(schedule, 30), 1, 1e-12);
  EXPECT_NEAR(learning_rate(schedule, 100), 4e-6, 1e-12);
  EXPECT_LT(learning_rate(schedule, 29), 1);
  EXPECT_LT(learning_rate(schedule, 31), 1);
}

TEST(Schedule, WarmUpIsLinearAndTheRestFollowsIt) {
  const Schedule schedule{
      .kind = ScheduleKind::cosine, .rate = 1, .total_steps = 111, .warmup_steps = 10};
  EXPECT_NEAR(learning_rate(schedule, 0), 0.1, 1e-12);
  EXPECT_NEAR(learning_rate(schedule, 9), 1, 1e-12);
  EXPECT_NEAR(learning_rate(schedule, 10), 1, 1e-12);
  EXPECT_NEAR(learning_rate(schedule, 60), 0.5, 1e-12);
  EXPECT_NEAR(learning_rate(schedule, 110), 0, 1e-12);
}

TEST(Schedule, NamesAreReadBack) {
  for (const std::string& name : schedule_names()) EXPECT_EQ(to_string(parse_schedule(name)), name);
  EXPECT_THROW(parse_schedule("cosinus"), RequestError);
}

TEST(Schedule, RefusesValuesOutsideOfTheirRange) {
  EXPECT_THROW(check(Schedule{.rate = 0}), RequestError);
  EXPECT_THROW(check(Schedule{.rate = -1}), RequestError);
  EXPECT_THROW(check(Schedule{.every = 0}), RequestError);
  EXPECT_THROW(check(Schedule{.peak = 1}), RequestError);
  EXPECT_THROW(check(Schedule{.floor = 2}), RequestError);
  EXPECT_THROW(check(Schedule{.start = -0.1}), RequestError);
  EXPECT_THROW(check(Schedule{.end = 1.1}), RequestError);
}

}  // namespace
}  // namespace syrtos::optim
