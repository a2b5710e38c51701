#include "syrtos/data/sets/cache.h"

#include <gmock/gmock.h>

#include <array>
#include <cstring>
#include <thread>

#include "syrtos/data/sets/fit.h"
#include "tests/data/file_limit.h"
#include "tests/support/temporary.h"

namespace syrtos::data {
namespace {

using testing::HasSubstr;

/// Counts how often each sample is made; sample i holds the numbers i, i + 1, ... as floats.
class Made : public Dataset {
 public:
  static constexpr int64_t kValues = 35;

  explicit Made(int64_t size) : counts(static_cast<size_t>(size)) {
    info_ = {.name = "made", .size = size, .dtype = DType::f32, .channels = 1, .height = 5};
    info_.width = 7;
    info_.classes = {"a"};
  }
  Target target(int64_t /*index*/) const override { return {}; }
  Sample read(int64_t index, Scratch& scratch) const override {
    ++counts[static_cast<size_t>(index)];
    if (failing) throw RunError("gone");
    scratch.values.resize(kValues * sizeof(float));
    for (int64_t k = 0; k < kValues; ++k) {
      const auto value = static_cast<float>(index + k);
      std::memcpy(scratch.values.data() + k * 4, &value, 4);
    }
    return {scratch.values.data(), DType::f32, 1, 5, 7, 0};
  }

  mutable std::vector<std::atomic<int>> counts;
  std::atomic<bool> failing = false;
};

class Cache : public TemporaryDirectory, public testing::WithParamInterface<CachePlace> {
 protected:
  static void expect_sample(const Dataset& set, int64_t index, Scratch& scratch) {
    const Sample sample = set.read(index, scratch);
    for (int64_t k = 0; k < Made::kValues; ++k) {
      ASSERT_EQ(sample.floats()[k], static_cast<float>(index + k));
    }
  }
};

TEST_P(Cache, MakesEverySampleOnceAndGivesItBackUnchanged) {
  auto made = std::make_unique<Made>(100);
  const Made& counts = *made;
  const Cached cached(std::move(made), GetParam(), directory_);
  EXPECT_EQ(cached.info().shape(), Shape({1, 5, 7}));
  Scratch scratch;
  for (int round = 0; round < 3; ++round) {
    for (int64_t i = 99; i >= 0; --i) expect_sample(cached, i, scratch);
  }
  for (const auto& count : counts.counts) EXPECT_EQ(count, 1);
  EXPECT_TRUE(std::filesystem::is_empty(directory_));
}

TEST_P(Cache, MayBeReadByThreadsAtOnce) {
  auto made = std::make_unique<Made>(500);
  const Made& counts = *made;
  const Cached cached(std::move(made), GetParam(), directory_);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      Scratch scratch;
      for (int64_t i = 0; i < 500; ++i) expect_sample(cached, i, scratch);
    });
  }
  for (auto& thread : threads) thread.join();
  std::vector<int> before(counts.counts.begin(), counts.counts.end());
  Scratch scratch;
  for (int64_t i = 0; i < 500; ++i) expect_sample(cached, i, scratch);
  EXPECT_EQ(before, std::vector<int>(counts.counts.begin(), counts.counts.end()));
}

TEST_P(Cache, DoesNotKeepWhatFailed) {
  auto owned = std::make_unique<Made>(3);
  Made& made = *owned;
  const Cached cached(std::move(owned), GetParam(), directory_);
  Scratch scratch;
  made.failing = true;
  EXPECT_THROW(cached.read(1, scratch), RunError);
  made.failing = false;
  expect_sample(cached, 1, scratch);
  expect_sample(cached, 1, scratch);
  EXPECT_EQ(made.counts[1], 2);
}

INSTANTIATE_TEST_SUITE_P(Places, Cache, testing::Values(CachePlace::memory, CachePlace::disk),
                         [](const auto& place) {
                           return place.param == CachePlace::memory ? "memory" : "disk";
                         });

class DiskCache : public TemporaryDirectory {};

TEST_F(DiskCache, ThatDoesNotFitIsRefusedAtOnce) {
  const FileLimit full(1 << 20);
  EXPECT_THAT(refusal<RunError>(
                  [&] { Cached(std::make_unique<Made>(10'000), CachePlace::disk, directory_); }),
              HasSubstr("cannot keep 1.9 MB of samples in " + directory_.string()));
  EXPECT_TRUE(std::filesystem::is_empty(directory_));
}

TEST_F(DiskCache, InNoDirectoryIsRefused) {
  const std::string text = refusal<RunError>(
      [&] { Cached(std::make_unique<Made>(10), CachePlace::disk, directory_ / "none"); });
  EXPECT_THAT(text, HasSubstr("No such file"));
  EXPECT_THAT(text, HasSubstr("none"));
}

/// More decoded samples than any disk has room for.
class Endless : public Dataset {
 public:
  Endless() {
    info_ = {.name = "endless", .size = int64_t{1} << 50, .channels = 1, .height = 28, .width = 28};
    info_.decodes = true;
  }
  Target target(int64_t /*index*/) const override { return {}; }
  Sample read(int64_t /*index*/, Scratch& /*scratch*/) const override { return {}; }
};

TEST_F(DiskCache, WithoutRoomForItSamplesAreMadeEachTimeAndThatIsNoted) {
  FitOptions options{.height = 28, .width = 28, .cache_directory = directory_ / "to" / "be made"};
  const auto set = fit(std::make_unique<Endless>(), options);
  ASSERT_EQ(set->info().notes.size(), 1U);
  EXPECT_THAT(set->info().notes[0], HasSubstr("endless: samples are decoded each time"));
  EXPECT_TRUE(std::filesystem::is_empty(directory_));
  options.cache_directory.clear();
  EXPECT_EQ(fit(std::make_unique<Endless>(), options)->info().notes.size(), 1U);
  // What has room is kept without a word.
  auto small = std::make_unique<Made>(3);
  options = {.height = 5, .width = 7, .cache = CacheMode::disk, .cache_directory = directory_};
  EXPECT_TRUE(fit(std::move(small), options)->info().notes.empty());
}

TEST(ChooseCache, LeavesHalfOfTheMemory) {
  EXPECT_EQ(choose_cache(50, 100), CachePlace::memory);
  EXPECT_EQ(choose_cache(51, 100), CachePlace::disk);
  EXPECT_EQ(choose_cache(1, 0), CachePlace::disk);
}

TEST(CacheBytes, CountWholeLines) {
  EXPECT_EQ(cache_bytes(Made(10).info()), 10 * 192);  // 35 floats are 140 bytes
}

}  // namespace
}  // namespace syrtos::data
