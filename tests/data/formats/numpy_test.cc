#include "syrtos/data/formats/numpy.h"

#include <gmock/gmock.h>

#include <bit>

#include "syrtos/base/cpu.h"
#include "syrtos/data/formats/npy.h"
#include "syrtos/data/open.h"
#include "tests/data/seeds.h"
#include "tests/support/temporary.h"

namespace syrtos::data {
namespace {

using namespace seeds;
using testing::ElementsAre;
using testing::HasSubstr;

class Numpy : public TemporaryDirectory {
 protected:
  static std::vector<float> floats(const std::string& file) {
    return parse_npy(bytes_of(file), "n").floats();
  }
  static std::string refused(const std::string& file) {
    return refusal([&] { parse_npy(bytes_of(file), "name").floats(); });
  }
  static Files keras() {
    return {{"x_train.npy", npy("|u1", "(3, 1, 2)", "abcdef")},
            {"y_train.npy", npy("<i8", "(3, 1)", little(0, 8) + little(2, 8) + little(1, 8))},
            {"x_test.npy", npy("|u1", "(1, 1, 2)", "gh")},
            {"y_test.npy", npy("|u1", "(1,)", "\x02")}};
  }
  static void expect_keras(const std::filesystem::path& path) {
    ASSERT_TRUE(has_numpy(path));
    const Splits splits = open_numpy(path);
    EXPECT_EQ(splits.train->info().shape(), Shape({1, 1, 2}));
    EXPECT_EQ(splits.train->info().dtype, DType::u8);
    EXPECT_THAT(splits.train->info().classes, ElementsAre("0", "1", "2"));
    Scratch scratch;
    EXPECT_EQ(splits.train->read(1, scratch).bytes()[1], 'd');
    EXPECT_EQ(splits.train->label(1), 2);
    EXPECT_EQ(splits.test->read(0, scratch).bytes()[0], 'g');
    EXPECT_EQ(splits.test->label(0), 2);
  }
  DatasetInfo shape_of(const std::string& shape, int64_t values) const {
    write("x.npy", npy("<f4", shape, std::string(static_cast<size_t>(10 * values * 4), '\0')));
    write("y.npy", npy("|u1", "(10,)", std::string(10, '\1')));
    return open_numpy(directory_).train->info();
  }
};

// A file with holes in it takes no space.
TEST_F(Numpy, ArraysLargerThanMemoryAreRefusedBeforeTheyAreRead) {
  for (const auto& [name, bytes] : keras()) write(name, bytes);
  std::filesystem::resize_file(directory_ / "x_train.npy",
                               static_cast<uint64_t>(cpu_info().memory_bytes));
  EXPECT_THAT(refusal([&] { open_numpy(directory_); }),
              HasSubstr("half of this machine's memory, found"));
}

TEST_F(Numpy, ChannelsFirstAreRecognised) {
  // Two pictures of 3 channels, 5x6; the value says where it is.
  std::string values;
  for (int i = 0; i < 2 * 3 * 5 * 6; ++i) values += static_cast<char>(i);
  write("x_train.npy", npy("|u1", "(2, 3, 5, 6)", values));
  write("y_train.npy", npy("|u1", "(2,)", std::string("\0\1", 2)));
  write("x_test.npy", npy("|u1", "(2, 3, 5, 6)", values));
  write("y_test.npy", npy("|u1", "(2,)", std::string("\0\1", 2)));
  const Splits splits = open_numpy(directory_);
  EXPECT_EQ(splits.train->info().shape(), Shape({3, 5, 6}));
  ASSERT_EQ(splits.train->info().notes.size(), 1);
  EXPECT_THAT(splits.train->info().notes[0],
              HasSubstr("[2,3,5,6] is read as channels first: 3 channels of 5x6"));
  Scratch scratch;
  for (const Dataset* part : {splits.train.get(), splits.test.get()}) {
    const Sample sample = part->read(1, scratch);
    for (int y = 0; y < 5; ++y) {
      for (int x = 0; x < 6; ++x) {
        for (int c = 0; c < 3; ++c) {
          ASSERT_EQ(sample.bytes()[(y * 6 + x) * 3 + c], 90 + c * 30 + y * 6 + x);
        }
      }
    }
  }
}

TEST_F(Numpy, ChannelsThatMayBeElsewhereAreFoundBySquaresAndNoted) {
  const auto note_of = [&](const std::string& shape, int64_t values) {
    const std::vector<std::string> notes = shape_of(shape, values).notes;
    return notes.empty() ? std::string() : notes[0];
  };
  // More than four channels: the sides of a square are none.
  EXPECT_EQ(shape_of("(10, 12, 20, 20)", 4800).shape(), Shape({12, 20, 20}));
  EXPECT_THAT(note_of("(10, 12, 20, 20)", 4800),
              HasSubstr("channels first: 12 channels of 20x20; if they are last, save "
                        "np.moveaxis(x, -1, 1)"));
  EXPECT_EQ(shape_of("(10, 20, 20, 12)", 4800).shape(), Shape({12, 20, 20}));
  EXPECT_THAT(note_of("(10, 20, 20, 12)", 4800), HasSubstr("channels last: 12 channels"));
  EXPECT_EQ(shape_of("(10, 5, 6, 7)", 210).shape(), Shape({7, 5, 6}));
  EXPECT_THAT(note_of("(10, 5, 6, 7)", 210), HasSubstr("channels last: 7 channels"));
  // Few at both ends.
  EXPECT_EQ(shape_of("(10, 3, 20, 4)", 240).shape(), Shape({4, 3, 20}));
  EXPECT_THAT(note_of("(10, 3, 20, 4)", 240),
              HasSubstr("if they are first, save np.moveaxis(x, 1"));
  EXPECT_EQ(note_of("(10, 20, 20, 3)", 1200), "");
  // Sensors of six axes.
  EXPECT_EQ(shape_of("(10, 6, 128)", 768).shape(), Shape({6, 1, 128}));
  EXPECT_THAT(note_of("(10, 6, 128)", 768), HasSubstr("6 channels of 128 values"));
  EXPECT_EQ(shape_of("(10, 20, 64)", 1280).shape(), Shape({64, 1, 20}));
  EXPECT_THAT(note_of("(10, 20, 64)", 1280), HasSubstr("64 channels of 20 values"));
  EXPECT_EQ(note_of("(10, 128, 6)", 768), "");
}

TEST_F(Numpy, WhatTheAxesOfOtherArraysMean) {
  EXPECT_EQ(shape_of("(10, 8, 8)", 64).shape(), Shape({1, 8, 8}));
  EXPECT_EQ(shape_of("(10, 8, 8)", 64).notes.size(), 1);
  EXPECT_EQ(shape_of("(10, 3, 24)", 72).shape(), Shape({3, 1, 24}));
  EXPECT_EQ(shape_of("(10, 24, 3)", 72).shape(), Shape({3, 1, 24}));
  EXPECT_EQ(shape_of("(10, 24, 3)", 72).notes.size(), 0);
  EXPECT_EQ(shape_of("(10, 1, 5, 6)", 30).shape(), Shape({1, 5, 6}));
  EXPECT_EQ(shape_of("(10, 5, 6, 3)", 90).shape(), Shape({3, 5, 6}));
}

TEST_F(Numpy, ValuesOfEveryTypeAndByteOrder) {
  EXPECT_THAT(floats(npy("|i1", "(2,)", "\xff\x05")), ElementsAre(-1, 5));
  EXPECT_THAT(floats(npy("<i2", "(1,)", little(0xfffe, 2))), ElementsAre(-2));
  EXPECT_THAT(floats(npy(">i4", "(1,)", big(0xfffffffd, 4))), ElementsAre(-3));
  EXPECT_THAT(floats(npy(">u4", "(1,)", big(0xfffffffd, 4))), ElementsAre(4294967293.0F));
  EXPECT_THAT(floats(npy("<i8", "(1,)", little(~0ULL, 8))), ElementsAre(-1));
  EXPECT_THAT(floats(npy("<f4", "(1,)", little(std::bit_cast<uint32_t>(1.5F), 4))),
              ElementsAre(1.5F));
  EXPECT_THAT(floats(npy(">f8", "(1,)", big(std::bit_cast<uint64_t>(-0.1), 8))),
              ElementsAre(-0.1F));
  // 1, the smallest number above 0, the largest, and -2 in half precision
  EXPECT_THAT(floats(npy("<f2", "(4,)",
                         little(0x3c00, 2) + little(1, 2) + little(0x7bff, 2) + little(0xc000, 2))),
              ElementsAre(1, 0x1p-24F, 65504, -2));
  for (const int version : {2, 3}) {
    EXPECT_THAT(floats(npy("|u1", "(2,)", "\x01\x02", version)), ElementsAre(1, 2));
  }
}

TEST_F(Numpy, ArchivesAndDirectoriesAsKerasNamesThem) {
  expect_keras(write("a.npz", pack(keras(), Container::stored_zip)));
  expect_keras(write("b.npz", pack(keras(), Container::zip)));
  for (const auto& [name, bytes] : keras()) write(name, bytes);
  expect_keras(directory_);
}

TEST_F(Numpy, SignalsBecomeF32AndXYIsSplit) {
  std::string values;
  std::string labels;
  for (uint32_t i = 0; i < 20; ++i) {
    labels += static_cast<char>(i % 2);
    for (uint32_t k = 0; k < 6; ++k) values += little(std::bit_cast<uint32_t>(0.5F + 6 * i + k), 4);
  }
  write("x.npy", npy("<f4", "(20, 3, 2)", values));
  write("y.npy", npy("|u1", "(20,)", labels));
  const Splits splits = divide(open_numpy(directory_), {});
  EXPECT_EQ(splits.train->info().shape(), Shape({2, 1, 3}));
  EXPECT_EQ(splits.train->info().dtype, DType::f32);
  EXPECT_EQ(splits.train->size(), 18);
  ASSERT_EQ(splits.test->size(), 2);
  Scratch scratch;
  EXPECT_EQ(splits.test->read(0, scratch).floats()[5], 0.5F + 18 * 6 + 5);
  EXPECT_EQ(splits.test->label(1), 1);
}

TEST_F(Numpy, WrongFilesSayWhatAndWhere) {
  EXPECT_THAT(refused(""), HasSubstr("name: at offset 0 expected a .npy file"));
  EXPECT_THAT(refused("PK"), HasSubstr("found something else"));
  EXPECT_THAT(refused(npy("<f4", "(2,)", "abcd")),
              HasSubstr("expected 8 bytes of values, found 4"));
  EXPECT_THAT(refused(npy("<f4", "(1,)", "abcdefgh")),
              HasSubstr("expected 4 bytes of values, found 8"));
  EXPECT_THAT(refused(npy("<c8", "(1,)", "abcdefgh")), HasSubstr("found '<c8'"));
  EXPECT_THAT(refused(npy("|O", "(1,)", "abcdefgh")), HasSubstr("expected values of type"));
  EXPECT_THAT(refused(npy("|u1", "(2, 2)", "abcd", 1, "True")),
              HasSubstr("expected values in C order"));
  EXPECT_THAT(refused(npy("|u1", "(2, 2)", "abcd", 9)),
              HasSubstr("version 1 to 3 of .npy, found 9"));
  EXPECT_THAT(refused(npy("|u1", "(99999999999, 99999999999)", "a")),
              HasSubstr("expected a shape"));
  EXPECT_THAT(refused(npy("|u1", "(0, 4)", "")), HasSubstr("found an empty one of shape (0, 4)"));
  EXPECT_THAT(refused(npy("|u1", "(4, 10, 0)", "")), HasSubstr("shape (4, 10, 0)"));
  EXPECT_THAT(refused(npy("|u1", "(4, -1)", "")), HasSubstr("found (4, -1)"));
  EXPECT_THAT(refused(npy("<U3", "(1,)", "abcdefghijkl")), HasSubstr("return_inverse=True"));
  EXPECT_THAT(refused(npy("<f4", "(1,)", little(0x7fc00000, 4))),
              HasSubstr("name: at offset 128 expected a finite number"));
  std::string long_header = npy("|u1", "(1,)", "a");
  long_header[9] = '\x7f';
  EXPECT_THAT(refused(long_header), HasSubstr("the length of the header"));
}

TEST_F(Numpy, WrongLabelsAndCountsAreRefused) {
  const auto with = [&](size_t which, const std::string& bytes) {
    Files files = keras();
    files[which].second = bytes;
    const auto file = write("a.npz", pack(files, Container::zip));
    return refusal([&] { open_numpy(file); });
  };
  EXPECT_THAT(with(1, npy("|u1", "(2,)", "ab")), HasSubstr("y_train.npy: expected 3 labels"));
  EXPECT_THAT(
      with(1, npy("|i1", "(3,)", "\x01\xff\x02")),
      HasSubstr("at offset 129 expected a label, a whole number from 0 to 65535, found -1"));
  EXPECT_THAT(with(3, npy("|u1", "(1,)", "\x03")),
              HasSubstr("labels from 0 to 2, as in training, found 3"));
  EXPECT_THAT(with(2, npy("|u1", "(1, 2, 1)", "gh")),
              HasSubstr("x_test.npy: expected samples as in"));
  EXPECT_THAT(with(0, npy("|u1", "(6,)", "abcdef")), HasSubstr("2 to 4 axes"));
  const auto file = write("b.npz", pack({{"z.npy", "x"}}, Container::zip));
  EXPECT_THAT(refusal([&] { open_numpy(file); }), HasSubstr("expected arrays x_train"));
  const std::string whole = pack(keras(), Container::zip);
  const auto cut = write("c.npz", whole.substr(0, whole.size() / 3));
  EXPECT_THAT(refusal([&] { open_numpy(cut); }), HasSubstr("c.npz"));
  std::string damaged = pack(keras(), Container::stored_zip);
  damaged[damaged.find("abcdef")] ^= 1;
  const auto bad = write("d.npz", damaged);
  EXPECT_THAT(refusal([&] { open_numpy(bad); }), HasSubstr("d.npz: expected a tar"));
}

}  // namespace
}  // namespace syrtos::data
