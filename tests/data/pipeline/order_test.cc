#include "syrtos/data/pipeline/order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "syrtos/base/error.h"
#include "syrtos/data/pipeline/permutation.h"

namespace syrtos::data {
namespace {

constexpr uint64_t kSeed = 7;

/// Takes up to `steps` steps with so many workers; counts how often each sample is used.
int64_t take_steps(int64_t size, int64_t epoch, int64_t used, int64_t batch, int64_t workers,
                   int64_t steps, Remainder remainder, std::vector<int>& uses) {
  const Permutation order(size, kSeed, epoch);
  for (int64_t step = 0; step < steps && steps_left(size, used, batch * workers, remainder) > 0;
       ++step) {
    int64_t after = used;
    for (int64_t worker = 0; worker < workers; ++worker) {
      const Slice slice = slice_of(size, used, batch * workers, {worker, workers}, remainder);
      EXPECT_LE(slice.count, batch);
      for (int64_t n = 0; n < slice.count; ++n) {
        ++uses[static_cast<size_t>(order[(slice.first + n) % size])];
      }
      after = slice.used;
    }
    used = after;
  }
  return used;
}

constexpr int64_t kForever = 1000000;

class Shards : public testing::TestWithParam<int64_t> {};

TEST_P(Shards, UseEverySampleOncePerEpoch) {
  for (const int64_t size : {1, 2, 7, 64, 1000, 1021}) {
    for (const int64_t batch : {1, 3, 16, 42}) {
      for (int64_t epoch = 0; epoch < 2; ++epoch) {
        std::vector<int> uses(static_cast<size_t>(size));
        const int64_t used =
            take_steps(size, epoch, 0, batch, GetParam(), kForever, Remainder::short_batch, uses);
        EXPECT_EQ(used, size);
        EXPECT_EQ(uses, std::vector<int>(static_cast<size_t>(size), 1))
            << size << " samples, batch " << batch;
      }
    }
  }
}

TEST_P(Shards, GoOnInMidEpochWithAnotherNumber) {
  constexpr int64_t kSize = 1021;
  for (const int64_t others : {1, 2, 3, 5, 8}) {
    for (const int64_t steps : {1, 3, 10}) {
      std::vector<int> uses(kSize);
      const int64_t used =
          take_steps(kSize, 4, 0, 16, GetParam(), steps, Remainder::short_batch, uses);
      take_steps(kSize, 4, used, 16, others, kForever, Remainder::short_batch, uses);
      EXPECT_EQ(uses, std::vector<int>(kSize, 1)) << others << " after " << steps << " steps";
    }
  }
}

TEST_P(Shards, DropLosesOnlyWhatDoesNotFillAStep) {
  constexpr int64_t kSize = 1021;
  const int64_t whole = 16 * GetParam();
  std::vector<int> uses(kSize);
  const int64_t used = take_steps(kSize, 0, 0, 16, GetParam(), kForever, Remainder::drop, uses);
  EXPECT_EQ(used, kSize / whole * whole);
  EXPECT_EQ(std::count(uses.begin(), uses.end(), 1), used);
  EXPECT_EQ(std::count(uses.begin(), uses.end(), 0), kSize - used);
}

TEST_P(Shards, PadUsesEverySampleAndFillsTheLastStep) {
  constexpr int64_t kSize = 1021;
  const int64_t whole = 16 * GetParam();
  const int64_t steps = (kSize + whole - 1) / whole;
  std::vector<int> uses(kSize);
  take_steps(kSize, 0, 0, 16, GetParam(), kForever, Remainder::pad, uses);
  EXPECT_EQ(std::count(uses.begin(), uses.end(), 0), 0);
  EXPECT_EQ(std::count(uses.begin(), uses.end(), 2), steps * whole - kSize);
}

INSTANTIATE_TEST_SUITE_P(Workers, Shards, testing::Values(1, 2, 3, 5, 8));

TEST(Slices, SplitAGlobalBatchLikeOneWorkerWouldTakeIt) {
  // Two workers with 8 each see, together, just the samples of one worker with 16.
  for (int64_t used = 0; used < 96; used += 16) {
    const Slice whole = slice_of(96, used, 16, {0, 1}, Remainder::short_batch);
    const Slice left = slice_of(96, used, 16, {0, 2}, Remainder::short_batch);
    const Slice right = slice_of(96, used, 16, {1, 2}, Remainder::short_batch);
    EXPECT_EQ(left.first, whole.first);
    EXPECT_EQ(right.first, left.first + left.count);
    EXPECT_EQ(left.count + right.count, whole.count);
    EXPECT_EQ(left.used, whole.used);
    EXPECT_EQ(whole.last, used == 80);
  }
}

TEST(Remainders, AreReadFromTheirNames) {
  EXPECT_EQ(parse_remainder("short"), Remainder::short_batch);
  EXPECT_EQ(parse_remainder("drop"), Remainder::drop);
  EXPECT_EQ(parse_remainder("pad"), Remainder::pad);
  EXPECT_THROW(parse_remainder("dorp"), RequestError);
}

}  // namespace
}  // namespace syrtos::data
