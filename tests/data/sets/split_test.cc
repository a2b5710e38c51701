#include "syrtos/data/sets/split.h"

#include <gmock/gmock.h>

#include <set>

#include "syrtos/data/sets/table.h"
#include "tests/support/temporary.h"

namespace syrtos::data {
namespace {

using testing::HasSubstr;

class SplitTest : public TemporaryDirectory {
 protected:
  /// Samples whose only value is their number, with these labels.
  static std::shared_ptr<Table> table(std::vector<int32_t> labels, size_t classes) {
    DatasetInfo info{.name = "toys", .dtype = DType::u8, .channels = 1, .height = 1, .width = 1};
    info.classes = numbered_classes(static_cast<int64_t>(classes));
    std::vector<uint8_t> values(labels.size());
    for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<uint8_t>(i);
    return std::make_shared<Table>(info, std::move(values), std::move(labels));
  }
  static std::set<int> numbers_of(const Dataset& data) {
    std::set<int> numbers;
    Scratch scratch;
    for (int64_t i = 0; i < data.size(); ++i) numbers.insert(data.read(i, scratch).bytes()[0]);
    return numbers;
  }
};

TEST_F(SplitTest, AShareIsTakenOfEachClass) {
  std::vector<int32_t> labels;
  for (int i = 0; i < 200; ++i) labels.push_back(i < 150 ? 0 : i < 190 ? 1 : 2);
  const auto whole = table(labels, 4);
  const Splits splits = split_share(whole, 0.2, 7);
  std::vector<int> kept(4);
  for (int64_t i = 0; i < splits.test->size(); ++i) ++kept[splits.test->label(i)];
  EXPECT_EQ(kept, (std::vector<int>{30, 8, 2, 0}));
  std::set<int> all = numbers_of(*splits.train);
  for (const int number : numbers_of(*splits.test)) EXPECT_TRUE(all.insert(number).second);
  EXPECT_EQ(all.size(), 200U);
}

TEST_F(SplitTest, TheSeedAloneDecidesWhich) {
  const auto whole = table(std::vector<int32_t>(100, 0), 1);
  const std::set<int> kept = numbers_of(*split_share(whole, 0.3, 1).test);
  EXPECT_EQ(kept, numbers_of(*split_share(whole, 0.3, 1).test));
  EXPECT_NE(kept, numbers_of(*split_share(whole, 0.3, 2).test));
  EXPECT_NE(kept, (std::set<int>{0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14,
                                 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29}));
}

TEST_F(SplitTest, SmallClassesAreOnBothSidesWhereTheyCan) {
  const Splits splits = split_share(table({0, 0, 1, 2, 2, 2}, 3), 0.01, 1);
  EXPECT_EQ(splits.test->size(), 2);
  EXPECT_EQ(splits.train->size(), 4);
  const Splits most = split_share(table({0, 0, 1, 2, 2, 2}, 3), 0.99, 1);
  EXPECT_EQ(most.train->size(), 3) << "one of each class";
  EXPECT_THAT(refusal([] {
                split_share(table({0, 1}, 2), 0.5, 1);
              }),
              HasSubstr("expected at least two samples of a class to divide"));
}

TEST_F(SplitTest, ValuesAreDividedWithoutRegardToThem) {
  DatasetInfo info{.name = "toys", .dtype = DType::u8, .channels = 1, .height = 1, .width = 1};
  info.targets.values = 1;
  std::vector<float> targets(40);
  for (size_t i = 0; i < targets.size(); ++i) targets[i] = 0.5F * static_cast<float>(i);
  const auto whole =
      std::make_shared<Table>(info, std::vector<uint8_t>(40), Targets(std::move(targets), 1));
  EXPECT_EQ(split_share(whole, 0.25, 3).test->size(), 10);
  const Splits tenths = split_every_tenth(whole);
  EXPECT_EQ(tenths.test->size(), 4);
  EXPECT_EQ(tenths.test->target(0).values[0], 4.5F);
}

}  // namespace
}  // namespace syrtos::data
