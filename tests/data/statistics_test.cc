#include "syrtos/data/statistics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "syrtos/base/error.h"
#include "syrtos/base/parallel.h"
#include "syrtos/data/sets/table.h"

namespace syrtos::data {
namespace {

Table bytes_table(int64_t samples) {
  std::vector<uint8_t> values;
  std::vector<int32_t> labels;
  uint32_t state = 1;
  for (int64_t i = 0; i < samples; ++i) {
    labels.push_back(static_cast<int32_t>(i % 3 == 0 ? 0 : 2));
    for (int k = 0; k < 2 * 3 * 5; ++k) {
      state = state * 1664525 + 1013904223;
      values.push_back(static_cast<uint8_t>(state >> 24));
    }
  }
  return {{.channels = 2, .height = 3, .width = 5, .classes = {"a", "b", "c"}}, values, labels};
}

TEST(Statistics, MeanAndDeviationAreThoseOfEachChannel) {
  const Table table = bytes_table(1000);
  const Statistics found = measure(table);
  Scratch scratch;
  for (size_t c = 0; c < 2; ++c) {
    double sum = 0;
    double squares = 0;
    for (int64_t i = 0; i < 1000; ++i) {
      const Sample sample = table.read(i, scratch);
      for (size_t p = 0; p < 15; ++p) sum += sample.bytes()[p * 2 + c];
    }
    const double mean = sum / 15000;
    for (int64_t i = 0; i < 1000; ++i) {
      const Sample sample = table.read(i, scratch);
      for (size_t p = 0; p < 15; ++p) squares += std::pow(sample.bytes()[p * 2 + c] - mean, 2);
    }
    EXPECT_NEAR(found.mean[c], mean, 1e-9);
    EXPECT_NEAR(found.deviation[c], std::sqrt(squares / 15000), 1e-9);
  }
  EXPECT_EQ(found.per_class, (std::vector<int64_t>{334, 0, 666}));
  EXPECT_EQ(found.largest_height, 3);
  EXPECT_EQ(found.smallest_width, 5);
}

TEST(Statistics, FloatsGiveTheSameBitsWithAnyNumberOfThreads) {
  std::vector<float> floats(3000 * 7);
  for (size_t i = 0; i < floats.size(); ++i) floats[i] = std::sin(static_cast<float>(i)) * 1e3F;
  const auto* bytes = reinterpret_cast<const uint8_t*>(floats.data());
  const Table table({.dtype = DType::f32, .channels = 1, .height = 1, .width = 7, .classes = {"a"}},
                    {bytes, bytes + floats.size() * sizeof(float)}, std::vector<int32_t>(3000, 0));
  const auto with = [&](int threads) {
    const ThreadScope scope(threads);
    return measure(table);
  };
  const Statistics one = with(1);
  const Statistics three = with(3);
  EXPECT_EQ(one.mean, three.mean);
  EXPECT_EQ(one.deviation, three.deviation);
}

TEST(Statistics, ALimitTakesSamplesFromEverywhere) {
  std::vector<uint8_t> values(1000, 0);
  std::fill(values.begin() + 500, values.end(), 200);
  const Table table({.channels = 1, .height = 1, .width = 1, .classes = {"a"}}, values,
                    std::vector<int32_t>(1000, 0));
  const Statistics found = measure(table, 10);
  EXPECT_EQ(found.samples, 10);
  EXPECT_DOUBLE_EQ(found.mean[0], 100);
  EXPECT_EQ(found.per_class[0], 1000);
}

TEST(Statistics, AChannelThatNeverChangesIsNotDivided) {
  const Table table({.channels = 1, .height = 1, .width = 1, .classes = {"a"}}, {7, 7}, {0, 0});
  const Statistics found = measure(table);
  EXPECT_EQ(found.deviation[0], 0);
  EXPECT_EQ(found.normalization().deviation[0], 1);
}

TEST(Statistics, ColumnsOfTablesAreNormalisedEachByItself) {
  const std::vector<float> rows = {2000, 0.1F, 7, 2002, 0.3F, 7, 2004, 0.2F, 7, 2002, 0.2F, 7};
  std::vector<uint8_t> bytes(rows.size() * sizeof(float));
  std::memcpy(bytes.data(), rows.data(), bytes.size());
  DatasetInfo info{.dtype = DType::f32, .channels = 1, .height = 1, .width = 3, .classes = {"a"}};
  const Table table(info, bytes, {0, 0, 0, 0});
  const Normalization found = measure_normalization(table, 100);
  ASSERT_EQ(found.mean.size(), 3U);
  EXPECT_FLOAT_EQ(found.mean[0], 2002);
  EXPECT_FLOAT_EQ(found.deviation[0], std::sqrt(2.0F));
  EXPECT_FLOAT_EQ(found.mean[1], 0.2F);
  EXPECT_FLOAT_EQ(found.deviation[1], std::sqrt(0.005F));
  EXPECT_FLOAT_EQ(found.mean[2], 7);
  EXPECT_EQ(found.deviation[2], 1) << "it never changes";
}

TEST(Statistics, StopsWhenAsked) {
  EXPECT_THROW(measure(bytes_table(10), 10, [](int64_t) { return false; }), RunError);
}

}  // namespace
}  // namespace syrtos::data
