#include "syrtos/data/formats/mnist.h"

#include <gmock/gmock.h>

#include "syrtos/data/formats/idx.h"
#include "tests/data/seeds.h"
#include "tests/support/temporary.h"

namespace syrtos::data {
namespace {

using namespace seeds;
using testing::HasSubstr;

class Mnist : public TemporaryDirectory {
 protected:
  void write_all(uint32_t train = 20, uint32_t test = 7) const {
    write("train-images-idx3-ubyte", idx_images(train));
    write("train-labels-idx1-ubyte", idx_labels(train));
    write("t10k-images-idx3-ubyte", idx_images(test));
    write("t10k-labels-idx1-ubyte", idx_labels(test));
  }
  std::string refused() {
    return refusal([&] { open_mnist(directory_); });
  }
};

TEST_F(Mnist, FilesAreRead) {
  write_all();
  ASSERT_TRUE(has_mnist(directory_));
  const Splits splits = open_mnist(directory_);
  EXPECT_EQ(splits.train->size(), 20);
  EXPECT_EQ(splits.test->size(), 7);
  EXPECT_EQ(splits.train->info().shape(), Shape({1, 2, 3}));
  EXPECT_EQ(splits.test->info().classes, splits.train->info().classes);
  Scratch scratch;
  const Sample sample = splits.train->read(13, scratch);
  EXPECT_EQ(sample.target.label, 3);
  EXPECT_EQ(sample.dtype, DType::u8);
  for (int64_t i = 0; i < 6; ++i) EXPECT_EQ(sample.bytes()[i], static_cast<uint8_t>((78 + i) * 7));
}

TEST_F(Mnist, CompressedFilesGiveTheSame) {
  const auto plain = write("i", idx_images(20));
  const auto compressed = write("i.gz", gzip(idx_images(20)));
  EXPECT_EQ(read_idx(plain, 3).values, read_idx(compressed, 3).values);
  write_all();
  std::filesystem::remove(directory_ / "train-images-idx3-ubyte");
  EXPECT_FALSE(has_mnist(directory_));
  EXPECT_THAT(refused(), HasSubstr("expected train-images-idx3-ubyte (or .gz)"));
  write("train-images-idx3-ubyte.gz", gzip(idx_images(20)));
  EXPECT_EQ(open_mnist(directory_).train->size(), 20);
}

TEST_F(Mnist, ATruncatedFileSaysWhere) {
  const std::string text = refusal([&] { read_idx(write("i", idx_images(20).substr(0, 100)), 3); });
  EXPECT_THAT(text, HasSubstr("truncated at offset 100"));
  EXPECT_THAT(text, HasSubstr("expected 120 values"));
  EXPECT_THAT(text, HasSubstr("found 84"));
  EXPECT_THAT(refusal([&] { read_idx(write("h", idx_images(20).substr(0, 6)), 3); }),
              HasSubstr("truncated at offset 6"));
  EXPECT_THAT(refusal([&] { read_idx(write("e", ""), 3); }), HasSubstr("truncated at offset 0"));
}

TEST_F(Mnist, DamagedCompressionIsRefused) {
  const std::string whole = gzip(idx_images(2000));
  for (const size_t size : {size_t{5}, size_t{60}, whole.size() / 2}) {
    EXPECT_THROW(read_idx(write("i.gz", whole.substr(0, size)), 3), RequestError) << size;
  }
  std::string damaged = whole;
  damaged[damaged.size() - 6] ^= 1;
  EXPECT_THAT(refusal([&] { read_idx(write("i.gz", damaged), 3); }), HasSubstr("i.gz: damaged"));
}

TEST_F(Mnist, WrongMagicSaysExpectedAndFound) {
  EXPECT_THAT(refusal([&] { read_idx(write("i", idx_labels(20)), 3); }),
              HasSubstr("expected 0x00000803, found 0x00000801"));
  EXPECT_THAT(refusal([&] { read_idx(write("t", "hello, world"), 1); }), HasSubstr("offset 0"));
}

TEST_F(Mnist, AHeaderThatPromisesTooMuchIsRefusedWithoutTakingMemory) {
  const std::string all(4, '\xff');
  EXPECT_THAT(refusal([&] { read_idx(write("i", big(0x803, 4) + all + all + big(28, 4)), 3); }),
              HasSubstr("offset 8"));
  const std::string large = big(0x803, 4) + big(1000000, 4) + big(1000, 4) + big(1000, 4);
  EXPECT_THAT(refusal([&] { read_idx(write("j", large + "xy"), 3); }), HasSubstr("found 2"));
}

TEST_F(Mnist, BytesAfterTheEndAreRefused) {
  EXPECT_THAT(refusal([&] { read_idx(write("i", idx_labels(5) + "x"), 1); }),
              HasSubstr("offset 13"));
}

TEST_F(Mnist, ATestLabelThatIsNotInTrainingSaysWhere) {
  write_all();
  std::string labels = idx_labels(20);
  labels[8 + 11] = 12;
  write("train-labels-idx1-ubyte", labels);
  EXPECT_EQ(open_mnist(directory_).train->info().classes.size(), 13U);
  labels = idx_labels(7);
  labels[8 + 3] = 13;
  write("t10k-labels-idx1-ubyte", labels);
  EXPECT_THAT(refused(), HasSubstr("t10k-labels-idx1-ubyte: at offset 11 expected a label from 0 "
                                   "to 12, as in training, found 13"));
}

TEST_F(Mnist, CountsAndSizesThatDifferAreRefused) {
  write_all();
  write("train-labels-idx1-ubyte", idx_labels(19));
  EXPECT_THAT(refused(), HasSubstr("has 20 images but"));
  EXPECT_THAT(refused(), HasSubstr("has 19 labels"));
  write_all();
  write("t10k-images-idx3-ubyte", idx_images(7, 3, 3));
  EXPECT_THAT(refused(), HasSubstr("training images are 2x3, the test images 3x3"));
}

}  // namespace
}  // namespace syrtos::data
