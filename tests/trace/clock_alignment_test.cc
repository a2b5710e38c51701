#include "syrtos/trace/clock_alignment.h"

#include <gmock/gmock.h>

#include <cstdlib>

#include "syrtos/base/error.h"
#include "syrtos/base/philox.h"

namespace syrtos::trace {
namespace {

/// A question and its answer with these ways, when the other clock is ahead by `offset`.
ClockSample sample(int64_t at, int64_t there, int64_t pause, int64_t back, int64_t offset) {
  return {at, at + there + offset, at + there + pause + offset, at + there + pause + back};
}

TEST(ClockAlignment, GivesTheOffsetExactlyWhenBothWaysTakeEquallyLong) {
  const ClockSample one = sample(1000, 300, 50, 300, -123456789);
  EXPECT_EQ(one.round_trip(), 600);
  const ClockOffset found = measure_offset({&one, 1});
  EXPECT_EQ(found.offset, -123456789);
  EXPECT_EQ(found.at, 1000 + 325);
  EXPECT_NEAR(found.error, 300, 1);
}

TEST(ClockAlignment, IsNeverWrongByMoreThanTheErrorItStates) {
  for (uint32_t round = 0; round < 500; ++round) {
    const auto words = philox({7, round}, {1, 2, 3, 4});
    const int64_t offset = int64_t{words[0]} * 1000 - (int64_t{1} << 40);
    std::vector<ClockSample> samples;
    for (uint32_t i = 0; i < 1 + round % 9; ++i) {
      const auto ways = philox({round, i}, {5, 6, 7, 8});
      samples.push_back(sample(1'000'000 * (i + 1), ways[0] % 100'000, ways[1] % 1000,
                               ways[2] % 100'000, offset));
    }
    const ClockOffset found = measure_offset(samples);
    EXPECT_LE(std::abs(found.offset - offset), found.error) << round;
    for (const ClockSample& one : samples) EXPECT_LE(found.error, one.round_trip() / 2 + 2);
  }
}

TEST(ClockAlignment, TrustsTheQuickestAnswer) {
  const ClockSample samples[] = {sample(0, 9000, 10, 100, 500), sample(100'000, 40, 10, 40, 500),
                                 sample(200'000, 100, 10, 8000, 500)};
  EXPECT_EQ(measure_offset(samples).offset, 500);
  EXPECT_EQ(measure_offset(samples).at, 100'045);
}

TEST(ClockAlignment, LeavesOutWhatNoClocksCanGive) {
  const ClockSample backwards = {100, 50, 60, 90}, pause = {0, 70, 60, 100},
                    too_quick = {0, 10, 500, 100},
                    far = {INT64_MIN, INT64_MAX, INT64_MAX, INT64_MAX};
  const ClockSample good = sample(0, 50, 1, 50, 7);
  const ClockSample all[] = {backwards, pause, too_quick, far, good};
  EXPECT_EQ(measure_offset(all).offset, 7);
  EXPECT_THROW(measure_offset({all, 4}), RunError);
  EXPECT_THROW(measure_offset({}), RunError);
}

TEST(ClockAlignment, SeenFromTheOtherSideIsTheSameFact) {
  const ClockOffset here = {1000, 250, 3};
  EXPECT_EQ(here.inverse(), (ClockOffset{1250, -250, 3}));
  EXPECT_EQ(here.inverse().inverse(), here);
}

TEST(ClockMap, WithoutOffsetsChangesNothing) {
  EXPECT_EQ(ClockMap().to_reference(12345), 12345);
  EXPECT_EQ(ClockMap().error(), 0);
  EXPECT_EQ(ClockMap().drift(), 0);
}

TEST(ClockMap, DriftsEvenlyBetweenOffsetsAndStaysOutside) {
  // In any order; 1000 s apart, the reference gains 2 ms, then loses 1 ms in 500 s.
  constexpr int64_t kSecond = 1'000'000'000;
  const ClockMap map(
      {{1500 * kSecond, 6'000'000, 20}, {0, 5'000'000, 10}, {1000 * kSecond, 7'000'000, 5}});
  EXPECT_EQ(map.to_reference(-5), -5 + 5'000'000);
  EXPECT_EQ(map.to_reference(0), 5'000'000);
  EXPECT_EQ(map.to_reference(500 * kSecond), 500 * kSecond + 6'000'000);
  EXPECT_EQ(map.to_reference(1000 * kSecond), 1000 * kSecond + 7'000'000);
  EXPECT_EQ(map.to_reference(1250 * kSecond), 1250 * kSecond + 6'500'000);
  EXPECT_EQ(map.to_reference(9999 * kSecond), 9999 * kSecond + 6'000'000);
  EXPECT_EQ(map.error(), 20);
  EXPECT_NEAR(map.drift(), 1'000'000 / 1500.0, 1e-9);
}

TEST(ClockMap, KeepsTheOrderOfTimes) {
  const ClockMap map({{0, 0, 1}, {10'000, -9'000, 1}, {20'000, 100'000, 1}});
  int64_t before = map.to_reference(-100);
  for (int64_t time = -99; time < 21'000; ++time) {
    const int64_t now = map.to_reference(time);
    ASSERT_GE(now, before) << time;
    before = now;
  }
}

TEST(ClockMap, RefusesAClockThatRunsBackwards) {
  EXPECT_THROW(ClockMap({{0, 0, 1}, {1000, -1001, 1}}), RunError);
  EXPECT_THROW(ClockMap({{5, 0, 1}, {5, 0, 1}}), RunError) << "two facts about one moment";
  EXPECT_THROW(ClockMap({{0, INT64_MAX, 1}}), RunError);
  EXPECT_THROW(ClockMap({{0, 0, -1}}), RunError);
}

}  // namespace
}  // namespace syrtos::trace
