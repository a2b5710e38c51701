#include "syrtos/data/sets/as_trained.h"

#include <gmock/gmock.h>

#include <cstring>

#include "syrtos/data/formats/plain_text.h"
#include "syrtos/data/open.h"
#include "syrtos/data/samples.h"
#include "syrtos/data/sets/table.h"
#include "tests/support/temporary.h"

namespace syrtos::data {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

class AsTrained : public TemporaryDirectory {
 protected:
  /// Rows of 1, 2, ... in columns of these names, the k-th of class k.
  static std::unique_ptr<Dataset> rows(std::vector<std::string> columns,
                                       std::vector<std::string> classes) {
    DatasetInfo info{.name = "t",
                     .dtype = DType::f32,
                     .channels = 1,
                     .height = 1,
                     .width = std::ssize(columns),
                     .classes = classes,
                     .columns = columns};
    std::vector<float> values;
    std::vector<int32_t> labels;
    for (size_t row = 0; row < classes.size(); ++row) {
      labels.push_back(static_cast<int32_t>(row));
      for (size_t c = 0; c < columns.size(); ++c) values.push_back(static_cast<float>(c + 1));
    }
    std::vector<uint8_t> bytes(values.size() * sizeof(float));
    std::memcpy(bytes.data(), values.data(), bytes.size());
    return std::make_unique<Table>(std::move(info), std::move(bytes), std::move(labels));
  }
  static std::vector<float> row_of(const Dataset& data, int64_t index) {
    Scratch scratch;
    const Sample sample = data.read(index, scratch);
    return {sample.floats(), sample.floats() + sample.elements()};
  }
  static Trained trained(std::vector<std::string> columns, std::vector<std::string> classes) {
    return {.image = {1, 1, std::ssize(columns)},
            .columns = std::move(columns),
            .classes = std::move(classes)};
  }
};

TEST_F(AsTrained, ColumnsAndClassesAreMatchedByName) {
  const auto data = as_trained(rows({"c", "a", "b"}, {"dog", "cat"}),
                               trained({"a", "b", "c"}, {"bird", "cat", "dog"}));
  EXPECT_THAT(row_of(*data, 0), ElementsAre(2, 3, 1));
  EXPECT_EQ(data->label(0), 2);
  EXPECT_EQ(data->label(1), 1);
  Scratch scratch;
  EXPECT_EQ(data->read(0, scratch).target.label, 2);
  EXPECT_THAT(data->info().classes, ElementsAre("bird", "cat", "dog"));
  EXPECT_THAT(data->info().columns, ElementsAre("a", "b", "c"));
}

TEST_F(AsTrained, WhatHasNoNamesGoesByPosition) {
  const auto data =
      as_trained(rows({"c", "a"}, {"0", "1"}), trained({"a", "c"}, {"bird", "cat", "dog"}));
  EXPECT_EQ(data->label(1), 1);
  EXPECT_THAT(data->info().classes, ElementsAre("bird", "cat", "dog"));
  auto unnamed = rows({"c", "a"}, {"0", "1"});
  auto* const before = unnamed.get();
  EXPECT_EQ(as_trained(std::move(unnamed), trained({"c", "a"}, {"0", "1"})).get(), before);
}

TEST_F(AsTrained, UnknownNamesAreRefusedWithBothLists) {
  EXPECT_THAT(
      refusal([] {
        as_trained(rows({"a"}, {"zetosa", "b"}), trained({"a"}, {"setosa", "b"}));
      }),
      AllOf(HasSubstr("(setosa, b)"), HasSubstr("zetosa"), HasSubstr("did you mean 'setosa'?")));
  EXPECT_THAT(refusal([] {
                as_trained(rows({"a", "x"}, {"p"}), trained({"a", "b"}, {"p"}));
              }),
              AllOf(HasSubstr("in any order: a, b"), HasSubstr("found: a, x")));
  EXPECT_THAT(refusal([] {
                as_trained(rows({"a"}, {"0", "1"}), trained({"a"}, {"p"}));
              }),
              HasSubstr("(p)"));
}

TEST_F(AsTrained, PicturesAndRowsAreNotTakenForEachOther) {
  const Trained row = trained({"a", "b"}, {});
  EXPECT_THAT(
      refusal([&] { require_kind({.name = "p", .channels = 3, .height = 8, .width = 8}, row); }),
      AllOf(HasSubstr("rows of 2 numbers"), HasSubstr("(a, b)"), HasSubstr("pictures of 3x8x8")));
  EXPECT_THAT(refusal([&] {
                as_trained(rows({"a", "b", "c"}, {"p"}), row);
              }),
              AllOf(HasSubstr("rows of 2 numbers"), HasSubstr("(a, b, c)")));
  const Trained picture{.image = {3, 32, 32}, .columns = {}, .classes = {}};
  EXPECT_THAT(refusal([&] {
                as_trained(rows({"a", "b"}, {"p"}), picture);
              }),
              AllOf(HasSubstr("pictures of 3x32x32"), HasSubstr("rows of 2 numbers")));
  EXPECT_NO_THROW(require_kind({.name = "p", .channels = 3, .height = 64, .width = 64}, picture));
}

TEST_F(AsTrained, FilesToPredictAreReadByTheNamesOfColumns) {
  const SampleWish wish{.image = {1, 1, 2}, .columns = {"a", "b"}};
  const auto other = write("other.csv", "b,kind,a\n1,x,2\n");
  EXPECT_THAT(refusal([&] { open_samples(other, wish); }),
              AllOf(HasSubstr("(a, b)"), HasSubstr("(b, kind, a)")));
  const auto swapped = write("swapped.csv", "b,label,a\n1,x,2\n");
  EXPECT_THAT(row_of(*open_samples(swapped, wish).data, 0), ElementsAre(2, 1));
  const auto unnamed = write("unnamed.csv", "1,2\n");
  EXPECT_THAT(row_of(*open_samples(unnamed, wish).data, 0), ElementsAre(1, 2));
  EXPECT_THAT(refusal([&] { open_samples(write("wrong.csv", "b,d\n1,2\n"), wish); }),
              AllOf(HasSubstr("a, b"), HasSubstr("b, d")));
  EXPECT_THAT(refusal([&] { open_samples(write("p.png", "no picture"), wish); }),
              AllOf(HasSubstr("rows of 2 numbers"), HasSubstr("found pictures")));
}

TEST_F(AsTrained, TestDataBesideTrainingDataIsReadByTheNamesOfColumns) {
  write("train.csv", "a,b,label\n1,2,x\n3,4,y\n");
  write("test.csv", "label,b,a\ny,6,5\n");
  const Splits splits = open(directory_.string(), {});
  EXPECT_THAT(row_of(*splits.test, 0), ElementsAre(5, 6));
  EXPECT_EQ(splits.test->label(0), 1);
  write("test.csv", "label,b,c\ny,6,5\n");
  EXPECT_THAT(refusal([&] { open(directory_.string(), {}); }), HasSubstr("found: b, c"));
}

TEST_F(AsTrained, CharactersOfAnotherTextAreThoseOfTraining) {
  std::string text;
  for (int i = 0; i < 2000; ++i) text += "bd"[i % 2];
  const OpenOptions options{
      .trained = {.image = {1, 1, kTextWindow}, .columns = {}, .classes = {"a", "b", "c", "d"}}};
  const Splits splits = open(write("t.txt", text).string(), {}, options);
  const std::vector<float> row = row_of(*splits.train, 0);
  EXPECT_EQ(row[0], 1);
  EXPECT_EQ(row[1], 3);
}

}  // namespace
}  // namespace syrtos::data
