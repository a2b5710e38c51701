#include "syrtos/data/formats/number_targets.h"

#include <gmock/gmock.h>

#include "tests/support/temporary.h"

namespace syrtos::data {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class NumberTargetsTest : public TemporaryDirectory {};

Numbers numbers(std::span<const float> values, int64_t each = 1) {
  return {.values = values, .each = each, .shape = {each}, .name = "y", .at = [](int64_t sample) {
            return "y of " + std::to_string(sample);
          }};
}

DatasetInfo described(const NumberTargets& targets) {
  DatasetInfo info;
  targets.describe(info);
  return info;
}

TEST_F(NumberTargetsTest, FewWholeNumbersAreClasses) {
  const std::vector<float> values{0, 2, 1, 2};
  const NumberTargets targets(numbers(values), TargetKind::found_out);
  EXPECT_THAT(described(targets).classes, ElementsAre("0", "1", "2"));
  EXPECT_EQ(described(targets).targets.values, 0);
  EXPECT_THAT(described(targets).notes, IsEmpty());
  EXPECT_EQ(targets.read(numbers(values))[1].label, 2);
}

TEST_F(NumberTargetsTest, FractionsAndManyWholeNumbersWithGapsAreValues) {
  const std::vector<float> fractions{0.5F, 2, 1};
  const DatasetInfo info = described(NumberTargets(numbers(fractions), TargetKind::found_out));
  EXPECT_EQ(info.targets.values, 1);
  EXPECT_FALSE(info.targets.binary);
  EXPECT_THAT(info.classes, IsEmpty());
  std::vector<float> prices, numbers_of_classes;
  for (int i = 0; i < 150; ++i) prices.push_back(static_cast<float>(25 + 3 * i));
  for (int i = 0; i < 150; ++i) numbers_of_classes.push_back(static_cast<float>(i));
  const DatasetInfo with_gaps = described(NumberTargets(numbers(prices), TargetKind::found_out));
  EXPECT_EQ(with_gaps.targets.values, 1);
  EXPECT_THAT(with_gaps.notes, ElementsAre(HasSubstr("from 25 to 472 with gaps")));
  EXPECT_EQ(
      described(NumberTargets(numbers(numbers_of_classes), TargetKind::found_out)).classes.size(),
      150U);
}

TEST_F(NumberTargetsTest, WhatIsAskedForComesFirst) {
  const std::vector<float> values{0, 1, 1};
  EXPECT_EQ(described(NumberTargets(numbers(values), TargetKind::values)).targets.values, 1);
  EXPECT_TRUE(described(NumberTargets(numbers(values), TargetKind::values)).targets.binary);
  const std::vector<float> prices{1.5F, 2};
  EXPECT_THAT(refusal([&] { NumberTargets(numbers(prices), TargetKind::classes); }),
              HasSubstr("y of 0 expected a label, a whole number from 0 to 65535, found 1.5"));
}

TEST_F(NumberTargetsTest, RowsWithASingleOneAreClassesAndOthersLabels) {
  const std::vector<float> one_hot{0, 1, 0, 1, 0, 0};
  const NumberTargets classes(numbers(one_hot, 3), TargetKind::found_out);
  EXPECT_EQ(described(classes).classes.size(), 3U);
  EXPECT_EQ(classes.read(numbers(one_hot, 3))[0].label, 1);
  EXPECT_THAT(described(classes).notes, ElementsAre(HasSubstr("single 1")));
  const std::vector<float> several{0, 1, 1, 1, 0, 0};
  EXPECT_THAT(refusal([&] { classes.read(numbers(several, 3)); }), HasSubstr("a single 1"));
  const NumberTargets labels(numbers(several, 3), TargetKind::found_out);
  EXPECT_TRUE(described(labels).targets.binary);
  EXPECT_EQ(described(labels).targets.values, 3);
  EXPECT_THAT(labels.read(numbers(several, 3))[0].values, ElementsAre(0, 1, 1));
  EXPECT_TRUE(described(NumberTargets(numbers(one_hot, 3), TargetKind::values)).targets.binary);
  EXPECT_THAT(refusal([&] { NumberTargets(numbers(several, 3), TargetKind::classes); }),
              HasSubstr("found 3 values for each"));
}

TEST_F(NumberTargetsTest, TestDataMeansWhatTrainingDataDoes) {
  const std::vector<float> training{0, 1, 2}, test{0, 3}, wide{0, 1, 0, 1};
  const NumberTargets targets(numbers(training), TargetKind::found_out);
  EXPECT_THAT(refusal([&] { targets.read(numbers(test)); }),
              HasSubstr("labels from 0 to 2, as in training, found 3 for sample 1"));
  EXPECT_THAT(refusal([&] { targets.read(numbers(wide, 2)); }),
              HasSubstr("expected 1 value for each sample, as in training, found 2"));
}

}  // namespace
}  // namespace syrtos::data
