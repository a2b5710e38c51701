#include "syrtos/data/formats/image_folder.h"
#include "syrtos/data/open.h"

#include <gmock/gmock.h>

#include "tests/data/seeds.h"
#include "tests/support/temporary.h"

namespace syrtos::data {
namespace {

using namespace seeds;
using testing::ElementsAre;
using testing::HasSubstr;

class ImageFolders : public TemporaryDirectory {
 protected:
  void put(const std::string& name, const std::string& bytes = "P5 2 1 255\nab") const {
    std::filesystem::create_directories((directory_ / name).parent_path());
    write(name, bytes);
  }
  std::string refused() {
    return refusal([&] { open_image_folder(directory_); });
  }
};

TEST_F(ImageFolders, WithTrainAndTest) {
  put("train/dog/1.pgm");
  put("train/dog/2.PNG", png(1, 1, "abc"));
  put("train/cat/x.JPeG", jpeg(8, 8, std::string(64, 'm'), {JCS_GRAYSCALE}));
  put("train/cat/.hidden.png");
  put("train/cat/notes.txt");
  put("train/.cache/x.png");
  put("val/cat/1.ppm", "P6 1 1 255\nxyz");
  put("val/dog/1.pgm");
  ASSERT_TRUE(has_image_folder(directory_));
  const Splits splits = open_image_folder(directory_);
  EXPECT_THAT(splits.train->info().classes, ElementsAre("cat", "dog"));
  EXPECT_EQ(splits.train->size(), 3);
  EXPECT_EQ(splits.test->size(), 2);
  EXPECT_FALSE(splits.train->info().same_size());
  EXPECT_EQ(splits.train->info().channels, 3);
  Scratch scratch;
  const Sample cat = splits.train->read(0, scratch);
  EXPECT_EQ(cat.target.label, 0);
  EXPECT_EQ(cat.width, 8);
  EXPECT_EQ(cat.elements(), 192);
  EXPECT_EQ(cat.bytes()[100], 'm');
  const Sample dog = splits.train->read(1, scratch);
  EXPECT_THAT(std::vector<int>(dog.bytes(), dog.bytes() + 6), ElementsAre(97, 97, 97, 98, 98, 98));
  const Sample test = splits.test->read(0, scratch);
  EXPECT_THAT(std::vector<int>(test.bytes(), test.bytes() + 3), ElementsAre('x', 'y', 'z'));
}

TEST_F(ImageFolders, OfOneSizeHaveIt) {
  for (const char* name : {"train/a/1.ppm", "train/b/1.ppm", "test/a/1.ppm", "test/b/1.ppm"})
    put(name, "P6 2 1 255\nabcdef");
  EXPECT_EQ(open_image_folder(directory_).train->info().shape(), Shape({3, 1, 2}));
  EXPECT_TRUE(open_image_folder(directory_).train->info().decodes);
  put("test/b/2.pgm", "P5 1 1 255\na");
  EXPECT_FALSE(open_image_folder(directory_).train->info().same_size());
}

TEST_F(ImageFolders, OfGreyPicturesHaveOneChannel) {
  for (const char* name : {"train/a/1.pgm", "train/b/1.pgm", "test/a/1.pgm", "test/b/1.pgm"})
    put(name);
  const Splits grey = open_image_folder(directory_);
  EXPECT_EQ(grey.test->info().shape(), Shape({1, 1, 2}));
  Scratch scratch;
  EXPECT_EQ(grey.train->read(0, scratch).elements(), 2);
  put("test/b/2.ppm", "P6 2 1 255\nabcdef");
  EXPECT_EQ(open_image_folder(directory_).train->info().channels, 3);
}

TEST_F(ImageFolders, SayWhatTheyLeaveOut) {
  for (const char* name : {"train/a/1.pgm", "train/b/1.pgm", "test/a/1.pgm", "test/b/1.pgm"})
    put(name);
  EXPECT_TRUE(open_image_folder(directory_).train->info().notes.empty());
  put("train/a/2.gif", "GIF89a");
  put("train/b/3.gif", "GIF89a");
  put("train/b/notes.txt", "x");
  put("train/b/more/4.pgm");
  put("train/.hidden", "x");
  const auto notes = open_image_folder(directory_).train->info().notes;
  ASSERT_EQ(notes.size(), 1);
  EXPECT_THAT(notes[0], HasSubstr("are read: 2 .gif, 1 .txt, 1 folder"));
  std::filesystem::create_symlink("gone.png", directory_ / "train/b/5.png");
  EXPECT_THAT(open_image_folder(directory_).train->info().notes[0], HasSubstr("1 broken link"));
  std::filesystem::remove(directory_ / "train/a/1.pgm");
  EXPECT_THAT(refused(), HasSubstr("found only 1 .gif; remove the folder"));
}

TEST_F(ImageFolders, WithoutATestFolderKeepEveryTenthOfEachClass) {
  for (int i = 0; i < 25; ++i) {
    const std::string name = std::string(1, static_cast<char>('a' + i)) + ".pgm";
    put("one/" + name, std::string("P5 1 1 255\n") + static_cast<char>('a' + i));
    if (i < 12) put("two/" + name, std::string("P5 1 1 255\n") + static_cast<char>('A' + i));
  }
  ASSERT_TRUE(has_image_folder(directory_));
  const Splits splits = divide(open_image_folder(directory_), {});
  EXPECT_EQ(splits.train->size(), 34);
  ASSERT_EQ(splits.test->size(), 3);
  Scratch scratch;
  EXPECT_EQ(splits.test->read(0, scratch).bytes()[0], 'a' + 9);
  EXPECT_EQ(splits.test->read(1, scratch).bytes()[0], 'a' + 19);
  EXPECT_EQ(splits.test->read(2, scratch).bytes()[0], 'A' + 9);
  EXPECT_EQ(splits.test->label(2), 1);
  for (int64_t i = 0; i < 34; ++i) EXPECT_NE(splits.train->read(i, scratch).bytes()[0], 'a' + 9);
}

TEST_F(ImageFolders, WithoutEnoughClassesOrPicturesAreRefused) {
  EXPECT_FALSE(has_image_folder(directory_));
  EXPECT_THAT(refused(),
              HasSubstr("expected at least two folders with pictures, one per class, found none"));
  put("cat/1.pgm");
  EXPECT_THAT(refused(), HasSubstr("found one only, 'cat'"));
  std::filesystem::create_directories(directory_ / "dog");
  EXPECT_THAT(refused(), HasSubstr("dog: expected pictures"));
  put("dog/1.pgm");
  EXPECT_THAT(refusal([&] { divide(open_image_folder(directory_), {}); }),
              HasSubstr("expected a class with at least 10 samples"));
}

TEST_F(ImageFolders, WhoseClassesDifferBetweenTrainAndTestAreRefused) {
  for (const char* name : {"train/a/1.pgm", "train/b/1.pgm", "test/a/1.pgm", "test/c/1.pgm"})
    put(name);
  EXPECT_THAT(refused(), HasSubstr("expected the same classes"));
  EXPECT_THAT(refused(), HasSubstr("found 'b' in"));
  put("train/c/1.pgm");
  EXPECT_THAT(refused(), HasSubstr("found 'b' in"));
  put("test/b/1.pgm");
  EXPECT_EQ(refused(), "was accepted");
}

TEST_F(ImageFolders, AFileThatVanishesOrIsDamagedEndsTheRun) {
  for (const char* name : {"train/a/1.pgm", "train/b/1.pgm", "test/a/1.pgm", "test/b/1.pgm"})
    put(name);
  const Splits splits = open_image_folder(directory_);
  std::filesystem::remove(directory_ / "train/a/1.pgm");
  put("train/b/1.pgm", "");
  Scratch scratch;
  EXPECT_THAT(refusal<RunError>([&] { splits.train->read(0, scratch); }),
              HasSubstr("train/a/1.pgm"));
  const std::string text = refusal<RunError>([&] { splits.train->read(1, scratch); });
  EXPECT_THAT(text, HasSubstr("train/b/1.pgm: at offset 0 expected a JPEG"));
  EXPECT_THAT(text, HasSubstr("found an empty file"));
}

}  // namespace
}  // namespace syrtos::data
