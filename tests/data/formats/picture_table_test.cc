#include "syrtos/data/formats/picture_table.h"

#include <gmock/gmock.h>

#include "syrtos/data/open.h"
#include "tests/support/temporary.h"

namespace syrtos::data {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
namespace fs = std::filesystem;

class PictureTables : public TemporaryDirectory {
 protected:
  /// A grey picture of one pixel.
  void put_picture(const std::string& name, int grey) const {
    fs::create_directories((directory_ / name).parent_path());
    write(name, std::string("P5 1 1 255\n") + static_cast<char>(grey));
  }
  Splits opened(const std::string& label_column = {},
                TargetKind kind = TargetKind::found_out) const {
    return open_picture_table(directory_, label_column, kind);
  }
};

TEST_F(PictureTables, NamesOfAColumnAreClasses) {
  for (int i = 0; i < 4; ++i) put_picture("pictures/" + std::to_string(i) + ".pgm", 10 * i);
  write("table.csv",
        "file,label\npictures/0.pgm,cat\npictures/1.pgm,dog\npictures/2.pgm,cat\n"
        "pictures/3.pgm,dog\n");
  ASSERT_TRUE(has_picture_table(directory_));
  EXPECT_TRUE(has_picture_table(directory_ / "table.csv"));
  const Splits splits = opened();
  EXPECT_EQ(splits.test, nullptr);
  EXPECT_THAT(splits.train->info().classes, ElementsAre("cat", "dog"));
  EXPECT_EQ(splits.train->info().shape(), Shape({1, 1, 1}));
  Scratch scratch;
  const Sample third = splits.train->read(2, scratch);
  EXPECT_EQ(third.bytes()[0], 20);
  EXPECT_EQ(third.target.label, 0);
}

TEST_F(PictureTables, ColumnsOfNumbersAreValuesInTheOrderThatIsAskedFor) {
  for (const char* set : {"train", "test"}) {
    put_picture(std::string(set) + "/a.pgm", 1);
    put_picture(std::string(set) + "/b.pgm", 2);
  }
  write("train/t.csv", "file,x,y\na.pgm,0.5,1\nb.pgm,1.5,2\n");
  write("test/t.csv", "file,x,y\nb.pgm,2.5,3\n");
  ASSERT_TRUE(has_picture_table(directory_));
  const Splits both = opened();
  EXPECT_THAT(both.train->info().targets.names, ElementsAre("x", "y"));
  EXPECT_THAT(both.test->target(0).values, ElementsAre(2.5F, 3));
  EXPECT_THAT(opened("y,x").train->target(1).values, ElementsAre(2, 1.5F));
  EXPECT_THAT(opened("x").train->target(1).values, ElementsAre(1.5F));
}

TEST_F(PictureTables, TwoTablesOfOneFolderAreTrainingAndTest) {
  put_picture("a.pgm", 1);
  put_picture("b.pgm", 2);
  write("train.csv", "a.pgm,0\nb.pgm,1\n");
  write("test.csv", "b.pgm,1\n");
  const Splits splits = open(directory_.string(), {});
  EXPECT_EQ(splits.train->size(), 2);
  EXPECT_EQ(splits.test->size(), 1);
  EXPECT_EQ(splits.test->label(0), 1);
}

TEST_F(PictureTables, WhatIsMissingIsNamed) {
  put_picture("a.pgm", 1);
  write("t.csv", "file,price\na.pgm,2.5\nb.pgm,3.5\n");
  EXPECT_THAT(refusal([&] { opened(); }),
              HasSubstr("t.csv:3: expected the name of a picture below"));
  write("t.csv", "file,price\na.pgm,\n");
  EXPECT_THAT(refusal([&] { opened(); }),
              HasSubstr("t.csv:2: expected a label in column 'price', found nothing"));
  EXPECT_THAT(refusal([&] { opened("file"); }), HasSubstr("which has the pictures' names"));
  write("t.csv", "file,price\nnone.pgm,2\n");
  EXPECT_FALSE(has_picture_table(directory_));
}

}  // namespace
}  // namespace syrtos::data
