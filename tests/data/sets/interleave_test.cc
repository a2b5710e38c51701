#include "syrtos/data/sets/interleave.h"

#include <gmock/gmock.h>

#include "syrtos/data/sets/table.h"
#include "tests/support/temporary.h"

namespace syrtos::data {
namespace {

using testing::HasSubstr;

/// `count` samples of one byte: `first`, `first` + 1, ...
std::unique_ptr<Dataset> part(int first, int count, DatasetInfo info = {}) {
  if (info.name.empty()) info.name = std::to_string(first);
  if (info.classes.empty()) info.classes = {"even", "odd"};
  info.channels = std::max<int64_t>(info.channels, 1);
  info.height = info.width = 1;
  std::vector<uint8_t> values;
  std::vector<int32_t> labels;
  for (int i = first; i < first + count; ++i) {
    for (size_t k = 0; k < size_of(info.dtype) * static_cast<size_t>(info.channels); ++k) {
      values.push_back(static_cast<uint8_t>(i));
    }
    labels.push_back(i % 2);
  }
  return std::make_unique<Table>(info, values, labels);
}

std::vector<std::unique_ptr<Dataset>> parts(std::unique_ptr<Dataset> a, std::unique_ptr<Dataset> b,
                                            std::unique_ptr<Dataset> c = nullptr,
                                            std::unique_ptr<Dataset> d = nullptr) {
  std::vector<std::unique_ptr<Dataset>> result;
  for (auto* each : {&a, &b, &c, &d}) {
    if (*each) result.push_back(std::move(*each));
  }
  return result;
}

TEST(Interleave, TakesTurnsUntilTheShorterOnesAreUsedUp) {
  const auto set = interleave(parts(part(10, 2), part(20, 4), part(30, 0), part(40, 3)));
  ASSERT_EQ(set->size(), 9);
  Scratch scratch;
  std::vector<int> seen;
  for (int64_t i = 0; i < set->size(); ++i) {
    const Sample sample = set->read(i, scratch);
    seen.push_back(*sample.bytes());
    EXPECT_EQ(sample.target.label, seen.back() % 2);
    EXPECT_EQ(set->label(i), sample.target.label);
  }
  EXPECT_EQ(seen, (std::vector<int>{10, 20, 40, 11, 21, 41, 22, 42, 23}));
}

TEST(Interleave, OfOneIsThatOne) {
  std::vector<std::unique_ptr<Dataset>> one;
  one.push_back(part(1, 3));
  const Dataset* before = one.front().get();
  EXPECT_EQ(interleave(std::move(one)).get(), before);
}

TEST(Interleave, RefusesWhatDoesNotBelongTogetherAndNamesBoth) {
  const auto refusal = [](DatasetInfo other) {
    other.name = "second";
    try {
      interleave(parts(part(1, 2), part(5, 2, other)));
    } catch (const RequestError& error) {
      return std::string(error.what());
    }
    return std::string("was accepted");
  };
  EXPECT_THAT(refusal({.dtype = DType::f32}), HasSubstr("1 and second do not belong together"));
  EXPECT_THAT(refusal({.channels = 3}), HasSubstr("expected samples u8 [1, 1, 1]"));
  EXPECT_THAT(refusal({.classes = {"even", "off"}}),
              HasSubstr("for class 1 expected 'odd', found 'off'"));
  EXPECT_THAT(refusal({.classes = {"x", "y", "z"}}), HasSubstr("expected 2 classes, found 3"));
  EXPECT_EQ(refusal({}), "was accepted");
}

}  // namespace
}  // namespace syrtos::data
