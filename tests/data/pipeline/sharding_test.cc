#include "syrtos/data/pipeline/sharding.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "syrtos/base/error.h"
#include "syrtos/data/pipeline/loader.h"

namespace syrtos::data {
namespace {

/// Samples of one value, their number; the class of sample n is n modulo the number of classes.
class Numbers : public Dataset {
 public:
  Numbers(int64_t size, int64_t classes) : classes_(classes), values_(size) {
    info_ = {.name = "numbers",
             .size = size,
             .dtype = DType::f32,
             .channels = 1,
             .height = 1,
             .width = 1};
    for (int64_t k = 0; k < classes; ++k) info_.classes.push_back(std::to_string(k));
    for (int64_t n = 0; n < size; ++n) values_[static_cast<size_t>(n)] = static_cast<float>(n);
  }
  Target target(int64_t index) const override {
    return {.label = static_cast<int32_t>(index % classes_)};
  }
  Sample read(int64_t index, Scratch&) const override {
    return {.values = &values_[static_cast<size_t>(index)],
            .dtype = DType::f32,
            .channels = 1,
            .height = 1,
            .width = 1,
            .target = target(index)};
  }

 private:
  int64_t classes_;
  std::vector<float> values_;
};

/// The samples that each worker gets in one epoch of `data`, step after step.
std::vector<std::vector<int64_t>> epoch_of(const Numbers& data, const Sharding& sharding,
                                           int64_t workers, int64_t batch, int64_t epoch,
                                           int64_t used = 0) {
  const Transform transform(data.info(), {1, 1, 1}, {{0}, {1}}, {}, DType::f32);
  std::vector<std::vector<int64_t>> all(static_cast<size_t>(workers));
  for (int64_t worker = 0; worker < workers; ++worker) {
    Loader loader(data, transform,
                  {.batch = batch, .seed = 5, .shard = {worker, workers}, .sharding = sharding});
    loader.seek(epoch, used);
    for (bool last = false; !last;) {
      const Batch step = loader.next();
      const auto* values = static_cast<const float*>(step.images);
      for (int64_t n = 0; n < step.slice.count; ++n) {
        all[static_cast<size_t>(worker)].push_back(static_cast<int64_t>(values[n]));
      }
      last = step.slice.last;
    }
  }
  return all;
}

std::set<int64_t> set_of(const std::vector<int64_t>& samples) {
  return {samples.begin(), samples.end()};
}

Sharding of(const char* text) { return parse_sharding(text); }

TEST(Sharding, IsReadAsItIsWritten) {
  for (const char* text :
       {"shuffled", "contiguous", "by-class", "replicated:0.25", "unequal:4,2,1.5"}) {
    EXPECT_EQ(to_string(parse_sharding(text)), text);
  }
}

TEST(Sharding, OfAnotherKindIsRefusedWithWhatThereIs) {
  for (const char* text : {"", "continuous", "replicated", "replicated:", "replicated:1.1",
                           "replicated:nan", "unequal:", "unequal:1,,2", "unequal:1,0",
                           "unequal:1,-2", "unequal:1,2,", "shuffled:1", "unequal:inf"}) {
    EXPECT_THAT([&] { parse_sharding(text); },
                testing::ThrowsMessage<RequestError>(testing::HasSubstr("expected shuffled")))
        << text;
  }
  EXPECT_THAT([] { parse_sharding("contigous"); },
              testing::ThrowsMessage<RequestError>(testing::HasSubstr("'contiguous'?")));
}

TEST(Sharding, ThatIsContiguousGivesEachWorkerItsPieceOnceInAnEpoch) {
  const Numbers data(120, 4);
  for (const int64_t epoch : {0, 1}) {
    const auto all = epoch_of(data, of("contiguous"), 3, 12, epoch);
    for (int64_t worker = 0; worker < 3; ++worker) {
      const auto& samples = all[static_cast<size_t>(worker)];
      EXPECT_EQ(samples.size(), 40u);
      EXPECT_EQ(set_of(samples).size(), 40u);
      EXPECT_EQ(*set_of(samples).begin(), worker * 40);
      EXPECT_EQ(*set_of(samples).rbegin(), worker * 40 + 39);
      EXPECT_FALSE(std::is_sorted(samples.begin(), samples.end()));
    }
  }
  EXPECT_NE(epoch_of(data, of("contiguous"), 3, 12, 0), epoch_of(data, of("contiguous"), 3, 12, 1));
}

TEST(Sharding, ByClassGivesEachWorkerClassesOfItsOwn) {
  const Numbers data(120, 4);
  const auto all = epoch_of(data, of("by-class"), 2, 10, 0);
  for (const int64_t sample : all[0]) EXPECT_LT(sample % 4, 2);
  for (const int64_t sample : all[1]) EXPECT_GE(sample % 4, 2);
  EXPECT_EQ(set_of(all[0]).size() + set_of(all[1]).size(), 120u);
}

TEST(Sharding, ThatReplicatesGivesAllWorkersSomeSamples) {
  const Numbers data(100, 2);
  std::map<int64_t, std::set<int64_t>> seen;  // by worker, over many epochs
  for (int64_t epoch = 0; epoch < 40; ++epoch) {
    const auto all = epoch_of(data, of("replicated:0.2"), 4, 20, epoch);
    for (int64_t worker = 0; worker < 4; ++worker) {
      const auto& samples = all[static_cast<size_t>(worker)];
      EXPECT_EQ(samples.size(), 25u);
      seen[worker].insert(samples.begin(), samples.end());
    }
  }
  std::map<int64_t, int> holders;
  for (const auto& [worker, samples] : seen) {
    EXPECT_EQ(samples.size(), 40u) << worker;  // 20 that all have, and a quarter of 80
    for (const int64_t sample : samples) ++holders[sample];
  }
  int64_t common = 0;
  for (const auto& [sample, workers] : holders) {
    EXPECT_TRUE(workers == 1 || workers == 4) << sample;
    common += workers == 4;
  }
  EXPECT_EQ(common, 20);
  EXPECT_EQ(holders.size(), 100u);
}

TEST(Sharding, ThatIsUnequalRepeatsSmallSharesWithinAnEpoch) {
  const Numbers data(90, 3);
  const auto all = epoch_of(data, of("unequal:4,1,1"), 3, 9, 0);
  EXPECT_EQ(set_of(all[0]).size(), 30u);  // of 60 that it has
  EXPECT_EQ(all[1].size(), 30u);
  EXPECT_EQ(set_of(all[1]).size(), 15u);
  EXPECT_EQ(set_of(all[2]).size(), 15u);
  EXPECT_EQ(held(of("unequal:4,1,1"), 90, {0, 3}), 60);
  EXPECT_EQ(held(of("unequal:4,1,1"), 90, {2, 3}), 15);
}

TEST(Sharding, GoesOnInTheMiddleOfAnEpoch) {
  const Numbers data(101, 4);
  for (const char* text : {"contiguous", "by-class", "replicated:0.3", "unequal:3,1,2"}) {
    const auto whole = epoch_of(data, of(text), 3, 10, 2);
    const auto rest = epoch_of(data, of(text), 3, 10, 2, 40);
    for (size_t worker = 0; worker < 3; ++worker) {
      const auto& all = whole[worker];
      const auto count = static_cast<std::ptrdiff_t>(rest[worker].size());
      EXPECT_EQ(rest[worker], std::vector<int64_t>(all.end() - count, all.end())) << text;
    }
  }
}

TEST(Sharding, OfOneWorkerIsItsOrdinaryOrder) {
  const Numbers data(64, 4);
  EXPECT_EQ(epoch_of(data, of("contiguous"), 1, 8, 3), epoch_of(data, of("shuffled"), 1, 8, 3));
}

}  // namespace
}  // namespace syrtos::data
