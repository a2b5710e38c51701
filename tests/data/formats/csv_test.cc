#include "syrtos/data/formats/csv.h"

#include <gmock/gmock.h>

#include "syrtos/data/formats/csv_rows.h"
#include "syrtos/data/open.h"
#include "tests/support/temporary.h"

namespace syrtos::data {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

class Csv : public TemporaryDirectory {
 protected:
  static std::string refused(const std::string& text) {
    return refusal([&] { parse_csv(text, "f.csv"); });
  }
};

TEST_F(Csv, SeparatorsBlanksSignsAndLineEnds) {
  for (const std::string text :
       {"1,0.5,-2e3\n0,+1,2\n", "1;0.5;-2e3\r\n\r\n0; 1 ;2", "1\t0.5\t-2e3\n0\t1\t2\n",
        "\xef\xbb\xbf\"1\" , 0.5 , -2e3\n\"0\",1,2\n"}) {
    const CsvRows rows = parse_csv(text, "f");
    EXPECT_EQ(rows.width, 2) << text;
    EXPECT_THAT(rows.values, ElementsAre(0.5F, -2000, 1, 2)) << text;
    EXPECT_THAT(rows.labels, ElementsAre("1", "0")) << text;
  }
}

TEST_F(Csv, ColumnNamesSayWhereTheLabelIs) {
  EXPECT_THAT(parse_csv("a,b,Class\n1,2,x\n", "f").labels, ElementsAre("x"));
  EXPECT_THAT(parse_csv("label,0,1\n5,2,3\n", "f").labels, ElementsAre("5"));
  EXPECT_THAT(parse_csv("a,b,c\nx,2,3\n", "f").labels, ElementsAre("x"));
  EXPECT_THAT(parse_csv("walk,2,3\nrun,2,3\n", "f").labels, ElementsAre("walk", "run"));
  EXPECT_THAT(parse_csv("\"a, \"\"b\"\"\",2\n", "f").labels, ElementsAre("a, \"b\""));
}

TEST_F(Csv, LabelsAreFoundInTheLastColumnWhereTheFirstHoldsNone) {
  const CsvRows names = parse_csv("5.1,3.5,setosa\n4.9,3.0,virginica\n", "f");
  EXPECT_THAT(names.labels, ElementsAre("setosa", "virginica"));
  EXPECT_THAT(names.values, ElementsAre(5.1F, 3.5F, 4.9F, 3.0F));
  EXPECT_THAT(names.columns.note, HasSubstr("column 3 is taken for the label"));
  const CsvRows numbers = parse_csv("a,b,c\n5.1,3.5,0\n4.9,3.0,1\n", "f");
  EXPECT_THAT(numbers.labels, ElementsAre("0", "1"));
  EXPECT_THAT(numbers.columns.note, HasSubstr("column 3 ('c') is taken for the label"));
  // The first column of pictures of digits is always 0.
  EXPECT_THAT(parse_csv("0,5,1\n0,6,2\n", "f").labels, ElementsAre("1", "2"));
  EXPECT_EQ(parse_csv("walk,1,2\nrun,3,4\n", "f").columns.note, "");
}

TEST_F(Csv, WhatIsNoTextSaysSo) {
  using namespace std::string_literals;
  for (const std::string& text : {"\xff\xfe"
                                  "a\0,\0b\0\n\0"s,
                                  "\xfe\xff\0a\0,\0b"s, "a\0,\0b\0"s}) {
    EXPECT_THAT(refused(text), AllOf(HasSubstr("UTF-16"), HasSubstr("CSV UTF-8")));
  }
  EXPECT_THAT(refused("a,b\n1,2\n1,\0\n"s), HasSubstr("a byte of value 0 at offset 10"));
}

TEST_F(Csv, ColumnsHaveDifferentNames) {
  EXPECT_THAT(refused("a,b,a\n1,2,3\n"), HasSubstr("'a' as columns 1 and 3"));
  EXPECT_EQ(parse_csv("label,,\n1,2,3\n", "f").width, 2) << "of columns without names";
}

TEST_F(Csv, AWrongNumberIsToldAllColumnsOfLabels) {
  const std::string text = refusal([] { parse_csv("p,q,r\n1,2,x\n", "f", "p,q"); });
  EXPECT_THAT(text, HasSubstr("columns 1 ('p'), 2 ('q')"));
  EXPECT_THAT(refusal([] { parse_csv("p,q,r\n1,2,3\n", "f", "nope"); }),
              HasSubstr("f has: p, q, r"));
}

TEST_F(Csv, WhereTheLabelIsCanBeSaid) {
  const std::string text = "id,kind,size\n1,0,7\n2,1,8\n";
  EXPECT_THAT(parse_csv(text, "f", "kind").labels, ElementsAre("0", "1"));
  EXPECT_THAT(parse_csv(text, "f", "2").labels, ElementsAre("0", "1"));
  EXPECT_THAT(parse_csv(text, "f", "last").labels, ElementsAre("7", "8"));
  EXPECT_THAT(parse_csv(text, "f", "first").labels, ElementsAre("1", "2"));
  EXPECT_EQ(parse_csv(text, "f", "kind").columns.note, "");
  for (const char* wrong : {"4", "0", "kin"}) {
    EXPECT_THAT(refusal([&] { parse_csv(text, "f", wrong); }),
                HasSubstr("--label-column: expected first, last, 1 to 3 or a column's name"));
  }
  EXPECT_THAT(refusal([&] { parse_csv(text, "f", "kin"); }), HasSubstr("did you mean 'kind'?"));
}

TEST_F(Csv, TestLinesAreReadAsTrainingLinesAre) {
  write("train.csv", "5.1,0\n4.9,1\n");
  write("test.csv", "5,1\n6,0\n");
  const Splits splits = open_csv(directory_);
  EXPECT_EQ(splits.test->label(0), 1);
  EXPECT_EQ(splits.test->label(1), 0);
}

TEST_F(Csv, MeasuresAreNoLabels) {
  const auto file = write("a.csv", "0.5,1.5\n0.25,3.5\n");
  EXPECT_THAT(refusal([&] { open_csv(file); }), HasSubstr("--label-column"));
  std::string text;
  for (int i = 0; i < 20; ++i) text += std::to_string(i % 2) + ".0," + std::to_string(i) + ".5\n";
  EXPECT_THAT(open_csv(write("b.csv", text)).train->info().classes, ElementsAre("0", "1"));
}

TEST_F(Csv, TrainAndTestWithNamesAsClasses) {
  write("train.csv", "walk,1,2\nrun,3,4\nwalk,5,6\n");
  write("test.csv", "run,7,8\n");
  ASSERT_TRUE(has_csv(directory_));
  const Splits splits = open_csv(directory_);
  EXPECT_THAT(splits.train->info().classes, ElementsAre("run", "walk"));
  EXPECT_EQ(splits.train->info().shape(), Shape({1, 1, 2}));
  EXPECT_EQ(splits.train->info().dtype, DType::f32);
  Scratch scratch;
  EXPECT_EQ(splits.train->label(0), 1);
  EXPECT_EQ(splits.train->read(2, scratch).floats()[1], 6);
  EXPECT_EQ(splits.test->label(0), 0);
  write("test.csv", "run,7,8\nfly,1,2\n");
  EXPECT_THAT(refusal([&] { open_csv(directory_); }),
              HasSubstr("test.csv:2: expected a label that is in the training data, found 'fly'"));
  write("test.csv", "run,7\n");
  EXPECT_THAT(refusal([&] { open_csv(directory_); }), HasSubstr("test.csv:1: expected 2 numbers"));
}

TEST_F(Csv, ColumnsThatAreNamedMayHaveValuesToPredict) {
  const auto file = write("houses.csv", "rooms,price,area\n3,1.5,70\n4,2.5,90\n");
  const Splits price = open_csv(file, "price");
  EXPECT_THAT(price.train->info().targets.names, ElementsAre("price"));
  EXPECT_THAT(price.train->target(1).values, ElementsAre(2.5F));
  EXPECT_EQ(price.train->info().width, 2);
  const Splits both = open_csv(file, "area,2");
  EXPECT_THAT(both.train->info().targets.names, ElementsAre("area", "price"));
  EXPECT_THAT(both.train->target(0).values, ElementsAre(70, 1.5F));
  EXPECT_THAT(open_csv(file, "rooms", TargetKind::values).train->target(0).values, ElementsAre(3));
  EXPECT_EQ(open_csv(file, "rooms").train->info().classes.size(), 5U);
  EXPECT_THAT(refusal([&] { open_csv(file, "rooms,price,area"); }),
              HasSubstr("expected at least one column"));
  EXPECT_THAT(refusal([&] { open_csv(file, "rooms,prize"); }), HasSubstr("did you mean 'price'?"));
  const auto named = write("t.csv", "target,x\n0.5,1\n1.5,2\n");
  EXPECT_EQ(open_csv(named).train->info().targets.values, 1);
  const auto texts = write("u.csv", "kind,x\na,1\nb,2\n");
  EXPECT_THAT(refusal([&] { open_csv(texts, "kind", TargetKind::values); }),
              HasSubstr("u.csv:2: expected a number in column 'kind', found 'a'"));
}

TEST_F(Csv, ASingleFileIsSplitAndNumbersStayNumbers) {
  std::string text;
  for (int i = 0; i < 20; ++i) text += std::to_string(3 * (i % 2)) + "," + std::to_string(i) + "\n";
  const auto file = write("a.csv", text);
  ASSERT_TRUE(has_csv(file));
  const Splits splits = divide(open_csv(file), {});
  EXPECT_THAT(splits.train->info().classes, ElementsAre("0", "1", "2", "3"));
  EXPECT_EQ(splits.train->size(), 18);
  ASSERT_EQ(splits.test->size(), 2);
  Scratch scratch;
  EXPECT_EQ(splits.test->read(0, scratch).floats()[0], 18);
  EXPECT_EQ(splits.test->label(1), 3);
}

TEST_F(Csv, MistakesSayLineAndColumn) {
  EXPECT_THAT(refused("1,2,3\n1,2,x\n"),
              HasSubstr("f.csv:2:5: expected a finite number, found 'x'"));
  EXPECT_THAT(refused("1,2,3\n1,,3\n"), HasSubstr("f.csv:2:3: expected a finite number, found ''"));
  EXPECT_THAT(refused("1,2,3\n1,nan,3\n"),
              HasSubstr("f.csv:2:3: expected a finite number, found 'nan'"));
  EXPECT_THAT(refused("1,2,3\n1,1e99,3\n"), HasSubstr("found '1e99'"));
  EXPECT_THAT(refused("1,2,3\n\n1,2\n"),
              HasSubstr("f.csv:3:3: expected 3 columns, as in the first line, found 2"));
  EXPECT_THAT(refused("1,2\n0,2\n,3\n"), HasSubstr("f.csv:3:1: expected a label, found nothing"));
  EXPECT_THAT(refused("1,2\n\"a,3\n"), HasSubstr("f.csv:2:1: expected a closing quote"));
  EXPECT_THAT(refused("hello\n"), HasSubstr("f.csv:1:1: expected a label and at least one number"));
  EXPECT_THAT(refused(""), HasSubstr("f.csv: expected lines of a label and numbers, found none"));
  EXPECT_THAT(refused("a,b\n"), HasSubstr("found none"));
}

}  // namespace
}  // namespace syrtos::data
