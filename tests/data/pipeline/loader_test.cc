#include "syrtos/data/pipeline/loader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <iterator>
#include <thread>

#include "syrtos/base/cpu.h"
#include "syrtos/base/error.h"
#include "syrtos/base/parallel.h"
#include "syrtos/data/sets/random_data.h"

namespace syrtos::data {
namespace {

const Shape kShape = {3, 8, 8};

/// Everything that a loader delivers in some steps.
struct Delivered {
  std::vector<float> images;
  std::vector<int32_t> labels;
  std::vector<int64_t> epochs;
  std::vector<int64_t> counts;

  bool operator==(const Delivered&) const = default;
};

class LoaderTest : public testing::Test {
 protected:
  Delivered deliver(const LoaderOptions& options, int steps, int64_t epoch = 0, int64_t used = 0) {
    Loader loader(data_, transform_, options);
    loader.seek(epoch, used);
    return deliver(loader, options, steps);
  }

  Delivered deliver(Loader& loader, const LoaderOptions& options, int steps) {
    Delivered result;
    for (int step = 0; step < steps; ++step) {
      const Batch batch = loader.next();
      const int64_t count = batch.slice.count;
      EXPECT_LE(count, options.batch);
      const auto* images = static_cast<const float*>(batch.images);
      result.images.insert(result.images.end(), images, images + count * kShape.elements());
      result.labels.insert(result.labels.end(), batch.targets.begin(), batch.targets.end());
      result.epochs.push_back(batch.epoch);
      result.counts.push_back(count);
    }
    return result;
  }

  RandomDataset data_{100, kShape, 10, 1};
  Transform transform_{
      data_.info(), kShape, {{0}, {1}}, parse_augment("crop:2,flip,cutout:3"), DType::f32};
};

TEST_F(LoaderTest, DeliversTheSameWithAnyPrefetchAndAnyThreads) {
  const Delivered plain = deliver({.batch = 16, .prefetch = 0}, 20);
  EXPECT_THAT(plain.counts, testing::Each(testing::AnyOf(16, 4)));
  for (const int prefetch : {1, 2, 7}) {
    for (const int threads : {1, 3}) {
      EXPECT_EQ(deliver({.batch = 16, .prefetch = prefetch, .threads = threads}, 20), plain)
          << prefetch << " " << threads;
    }
  }
}

TEST_F(LoaderTest, EndsAnEpochWithAShortBatchAndBeginsTheNext) {
  const Delivered all = deliver({.batch = 32}, 5);
  EXPECT_THAT(all.counts, testing::ElementsAre(32, 32, 32, 4, 32));
  EXPECT_THAT(all.epochs, testing::ElementsAre(0, 0, 0, 0, 1));
}

TEST_F(LoaderTest, IsReadyWhenTheNextBatchIsThere) {
  Loader loader(data_, transform_, {.batch = 60, .prefetch = 1, .threads = 1});
  EXPECT_FALSE(loader.ready(60));
  EXPECT_EQ(loader.next().slice.count, 60);
  while (!loader.ready(40)) std::this_thread::yield();
  EXPECT_FALSE(loader.ready(60));
  EXPECT_EQ(loader.next().slice.count, 40);
  Loader without_threads(data_, transform_, {.batch = 60, .prefetch = 0});
  EXPECT_EQ(without_threads.next().slice.count, 60);
  EXPECT_FALSE(without_threads.ready(40));
}

TEST_F(LoaderTest, GoesOnFromAnyPlace) {
  const LoaderOptions options{.batch = 10, .prefetch = 3};
  const Delivered all = deliver(options, 25);
  const Delivered later = deliver(options, 5, 1, 30);  // the 14th step
  const int64_t skipped = 13 * 10 * kShape.elements();
  EXPECT_EQ(later.images,
            std::vector<float>(all.images.begin() + skipped,
                               all.images.begin() + skipped + 5 * 10 * kShape.elements()));
  Loader loader(data_, transform_, options);
  deliver(loader, options, 3);
  loader.seek(1, 30);
  EXPECT_EQ(deliver(loader, options, 5), later);
}

TEST_F(LoaderTest, ShardsTogetherDeliverWhatOneDoes) {
  const Delivered one = deliver({.batch = 20}, 5);
  const Delivered left = deliver({.batch = 20, .shard = {0, 2}}, 5);
  const Delivered right = deliver({.batch = 20, .shard = {1, 2}}, 5);
  std::vector<int32_t> joined;
  for (int step = 0; step < 5; ++step) {
    for (const Delivered* half : {&left, &right}) {
      joined.insert(joined.end(), half->labels.begin() + step * 10,
                    half->labels.begin() + step * 10 + 10);
    }
  }
  EXPECT_EQ(joined, one.labels);
}

TEST_F(LoaderTest, DeliversEmptySharesToWorkersWhoHaveNone) {
  RandomDataset few(3, kShape, 10, 1);
  int64_t delivered = 0;
  for (int64_t worker = 0; worker < 5; ++worker) {
    Loader loader(few, transform_, {.batch = 5, .shard = {worker, 5}, .prefetch = 2});
    for (int step = 0; step < 4; ++step) {
      const Batch batch = loader.next();
      EXPECT_EQ(batch.epoch, step);
      delivered += batch.slice.count;
    }
  }
  EXPECT_EQ(delivered, 4 * 3);
}

TEST_F(LoaderTest, EvaluatesInOrderWithoutVariation) {
  const Transform plain(data_.info(), kShape, {{0}, {1}}, {}, DType::f32);
  const Delivered all = deliver({.batch = 30, .training = false}, 4);
  Scratch scratch;
  for (int64_t n = 0; n < data_.size(); ++n) {
    std::vector<float> expected(static_cast<size_t>(kShape.elements()));
    plain.apply(data_.read(n, scratch), Placement{}, expected.data(), scratch);
    EXPECT_EQ(all.labels[static_cast<size_t>(n)], data_.label(n));
    EXPECT_TRUE(
        std::equal(expected.begin(), expected.end(), all.images.begin() + n * kShape.elements()));
  }
}

TEST_F(LoaderTest, CountsWhatItDid) {
  const LoaderOptions options{.batch = 10, .prefetch = 0};
  Loader loader(data_, transform_, options);
  deliver(loader, options, 30);
  const LoaderStats stats = loader.take_stats();
  EXPECT_EQ(stats.batches, 30);
  EXPECT_EQ(stats.samples, 300);
  EXPECT_GT(stats.transform_s, 0);
  EXPECT_EQ(stats.queue, 0);
  EXPECT_EQ(stats.helped, 1) << "without threads all is prepared when it is asked for";
  EXPECT_EQ(loader.take_stats().batches, 0);
}

TEST_F(LoaderTest, CountsNothingAsHelpedThatWasReady) {
  const LoaderOptions options{.batch = 10, .prefetch = 2};
  Loader loader(data_, transform_, options);
  deliver(loader, options, 1);  // starts the threads
  const auto wait = [&] {
    while (!loader.ready(10)) std::this_thread::yield();
  };
  wait();
  loader.take_stats();
  for (int step = 0; step < 3; ++step) {  // the threads get what no other process wants
    wait();
    deliver(loader, options, 1);
  }
  const LoaderStats stats = loader.take_stats();
  EXPECT_EQ(stats.helped, 0);
  EXPECT_GE(stats.queue, 1);
  EXPECT_LE(stats.queue, 2);
}

/// Fails on one sample; holds another up until it is let go.
class Troubled : public RandomDataset {
 public:
  Troubled() : RandomDataset(100, kShape, 10, 1) {}
  Sample read(int64_t index, Scratch& scratch) const override {
    if (index == bad) fail_run("sample {} is damaged", index);
    hold_up(index);
    return RandomDataset::read(index, scratch);
  }
  Target target(int64_t index) const override {
    hold_up(index);
    return RandomDataset::target(index);
  }
  void hold_up(int64_t index) const {
    if (index != slow || std::this_thread::get_id() == consumer || let_go) return;
    held = true;
    held.notify_all();
    let_go.wait(false);
  }
  int64_t bad = -1;
  int64_t slow = -1;
  std::thread::id consumer;
  mutable std::atomic<bool> held = false;
  std::atomic<bool> let_go = false;
};

TEST_F(LoaderTest, PassesOnWhatWentWrongWithASample) {
  Troubled data;
  data.bad = 35;
  for (const int prefetch : {0, 3}) {
    Loader loader(data, transform_, {.batch = 10, .training = false, .prefetch = prefetch});
    for (int step = 0; step < 3; ++step) loader.next();
    EXPECT_THROW(loader.next(), RunError);
    EXPECT_THROW(loader.next(), RunError) << "a damaged batch is not handed out later";
  }
}

/// Knows how far it was read.
class Watched : public RandomDataset {
 public:
  Watched() : RandomDataset(1000, kShape, 10, 1) {}
  Sample read(int64_t index, Scratch& scratch) const override {
    int64_t before = furthest;
    while (before < index && !furthest.compare_exchange_weak(before, index)) {
    }
    furthest.notify_all();
    return RandomDataset::read(index, scratch);
  }
  void wait_for(int64_t index) const {
    for (int64_t now = furthest; now < index; now = furthest) furthest.wait(now);
  }
  mutable std::atomic<int64_t> furthest = -1;
};

TEST_F(LoaderTest, PreparesSoManyBatchesAheadAndNoMore) {
  Watched data;
  Loader loader(data, transform_, {.batch = 10, .training = false, .prefetch = 3, .threads = 2});
  for (int64_t step = 1; step <= 20; ++step) {
    loader.next();
    const int64_t last = 10 * (step + 3) - 1;
    data.wait_for(last);  // forever, if nothing is prepared ahead
    EXPECT_EQ(data.furthest, last);
  }
}

/// Idle ones that stand in line for a core would hold up whoever needs a batch.
TEST_F(LoaderTest, HasNoMoreThreadsThanThereAreCores) {
  const int cores = cpu_info().cores;
  const ThreadScope many(8 * cores);
  Troubled data;
  const Loader loader(data, transform_, {.batch = 10, .training = false, .prefetch = 3});
  // A batch for each that is prepared, for each thread, and for whoever uses one.
  EXPECT_EQ(loader.bytes(), static_cast<int64_t>(10 * transform_.bytes()) * (3 + cores + 1));
}

TEST_F(LoaderTest, DoesNotWaitForAThreadThatGetsNoCore) {
  const ThreadScope one(1);  // so that whoever helps is this thread
  const Delivered expected = deliver({.batch = 10, .training = false, .prefetch = 0}, 30);
  Troubled data;
  data.slow = 25;
  data.consumer = std::this_thread::get_id();
  const LoaderOptions options{.batch = 10, .training = false, .prefetch = 3, .threads = 1};
  Loader loader(data, transform_, options);
  Delivered all = deliver(loader, options, 1);
  data.held.wait(false);  // at sample 25, in the third batch, for good
  Delivered rest = deliver(loader, options, 2);
  loader.take_stats();
  const Delivered helped = deliver(loader, options, 27);
  EXPECT_EQ(loader.take_stats().helped, 1) << "the only thread has no core";
  rest.images.insert(rest.images.end(), helped.images.begin(), helped.images.end());
  all.images.insert(all.images.end(), rest.images.begin(), rest.images.end());
  EXPECT_EQ(all.images, expected.images);  // of more batches than there are slots
  data.let_go = true;
  data.let_go.notify_all();
}

/// How many threads this process has.
int64_t threads_now() {
  const std::filesystem::directory_iterator tasks("/proc/self/task");
  return std::distance(begin(tasks), end(tasks));
}

/// Threads of idle priority would have to get a core before a small evaluation could end.
TEST_F(LoaderTest, MeasuresFewSamplesWithoutThreadsOfItsOwn) {
  const ThreadScope one(1);
  const int64_t before = threads_now();
  const auto threads_with = [&](int64_t batch, bool training) {
    Loader loader(data_, transform_,
                  {.batch = batch, .training = training, .prefetch = 4, .threads = 2});
    EXPECT_EQ(loader.next().slice.count, batch);
    return threads_now() - before;
  };
  EXPECT_EQ(threads_with(25, false), 0);
  EXPECT_EQ(threads_with(24, false), 2);
  EXPECT_EQ(threads_with(25, true), 2);
}

/// Whoever wants labels alone has no memory for images, also where a batch is rescued from a
/// thread.
TEST_F(LoaderTest, DeliversLabelsAlone) {
  const ThreadScope one(1);
  Troubled data;
  data.slow = 75;
  data.consumer = std::this_thread::get_id();
  const LoaderOptions options{
      .batch = 20, .training = false, .prefetch = 3, .threads = 1, .images = false};
  std::vector<int32_t> labels;
  Loader loader(data, transform_, options);
  for (int step = 0; step < 10; ++step) {
    if (step == 1) data.held.wait(false);  // within the fourth batch, for good
    const Batch batch = loader.next();
    labels.insert(labels.end(), batch.targets.begin(), batch.targets.end());
  }
  data.let_go = true;
  data.let_go.notify_all();
  ASSERT_EQ(labels.size(), 200U);
  for (int64_t n = 0; n < 200; ++n) {
    EXPECT_EQ(labels[static_cast<size_t>(n)], data_.label(n % 100)) << n;
  }
}

}  // namespace
}  // namespace syrtos::data
