#include "syrtos/train/network/evaluate.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "syrtos/base/error.h"
#include "syrtos/data/sets/table.h"
#include "syrtos/nn/zoo/zoo.h"
#include "syrtos/train/network/outputs.h"

namespace syrtos::train {
namespace {

constexpr int64_t kSide = 28;
constexpr int64_t kSamples = 21;

/// Pictures of noise, or the same seen in a mirror.
data::Table pictures(bool mirrored) {
  std::vector<uint8_t> values;
  std::vector<int32_t> labels;
  uint32_t random = 1;
  for (int64_t n = 0; n < kSamples; ++n) {
    for (int64_t y = 0; y < kSide; ++y) {
      std::vector<uint8_t> row;
      for (int64_t x = 0; x < kSide; ++x) {
        row.push_back(static_cast<uint8_t>((random = random * 1664525 + 1013904223) >> 24));
      }
      if (mirrored) std::reverse(row.begin(), row.end());
      values.insert(values.end(), row.begin(), row.end());
    }
    labels.push_back(static_cast<int32_t>(n % 10));
  }
  return {{.channels = 1, .height = kSide, .width = kSide, .classes = std::vector<std::string>(10)},
          std::move(values),
          std::move(labels)};
}

class Views : public testing::Test {
 protected:
  Views()
      : network_(nn::find_network("lenet5"),
                 {.batch = 8, .classes = 10, .channels = 1, .height = kSide, .width = kSide},
                 CompiledNetwork::Use::evaluation) {
    network_.initialize(1);
  }
  Evaluation measure(const data::Dataset& data, const char* views, int prefetch = 2) {
    const data::Transform transform(data.info(), data.info().shape(), {{128}, {60}}, {},
                                    DType::f32);
    return evaluate(network_.evaluation(),
                    {data, transform, views_of(job::parse_views(views)), prefetch});
  }
  CompiledNetwork network_;
};

TEST_F(Views, OfAMirrorImageGiveTheSameLossOnlyWhenBothSidesAreSeen) {
  const data::Table data = pictures(false);
  const data::Table mirrored = pictures(true);
  EXPECT_EQ(measure(data, "none").samples, kSamples);
  EXPECT_GT(std::abs(measure(data, "none").loss - measure(mirrored, "none").loss), 1e-4);
  EXPECT_NEAR(measure(data, "flip").loss, measure(mirrored, "flip").loss, 1e-5);
  EXPECT_GT(std::abs(measure(data, "flip+shift").loss - measure(data, "flip").loss), 1e-5);
}

TEST_F(Views, GiveTheSameHoweverBatchesArePrepared) {
  const data::Table data = pictures(false);
  EXPECT_EQ(measure(data, "flip+shift", 0).loss, measure(data, "flip+shift", 3).loss);
}

TEST(ViewNames, StandForWeightsThatAddUpToOne) {
  for (const char* name : {"none", "flip", "flip+shift"}) {
    float sum = 0;
    for (const job::View& view : views_of(job::parse_views(name))) sum += view.weight;
    EXPECT_FLOAT_EQ(sum, 1) << name;
  }
  EXPECT_EQ(views_of(job::Views::flip_and_shift).size(), 6U);
  EXPECT_THROW(job::parse_views("flop"), RequestError);
}

TEST(TopFive, HoldsALabelThatFewerThanFiveOthersBeat) {
  const std::vector<float> logits = {6, 5, 4, 3, 2, 1};
  EXPECT_TRUE(among_top(logits, 4, 5));
  EXPECT_FALSE(among_top(logits, 5, 5));
  EXPECT_TRUE(among_top(logits, 0, 1));
  EXPECT_FALSE(among_top(logits, 1, 1));
}

}  // namespace
}  // namespace syrtos::train
