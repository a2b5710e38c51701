#include "syrtos/data/mnist.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>

#include "syrtos/base/error.h"
#include "syrtos/data/idx.h"

namespace syrtos::data {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class MnistFiles : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "syrtos-mnist-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    directory_ = name;
  }
  void TearDown() override { fs::remove_all(directory_); }

  static std::string word(uint32_t value) {
    return {static_cast<char>(value >> 24), static_cast<char>(value >> 16),
            static_cast<char>(value >> 8), static_cast<char>(value)};
  }
  static std::string images(uint32_t count) {
    std::string bytes = word(0x803) + word(count) + word(2) + word(3);
    for (uint32_t i = 0; i < count * 6; ++i) bytes += static_cast<char>(i * 7);
    return bytes;
  }
  static std::string labels(uint32_t count) {
    std::string bytes = word(0x801) + word(count);
    for (uint32_t i = 0; i < count; ++i) bytes += static_cast<char>(i % 10);
    return bytes;
  }
  fs::path write(const std::string& name, const std::string& bytes) const {
    std::ofstream(directory_ / name, std::ios::binary) << bytes;
    return directory_ / name;
  }
  static std::string refusal(const std::function<void()>& call) {
    try {
      call();
    } catch (const RequestError& error) {
      return error.what();
    }
    return "was accepted";
  }

  fs::path directory_;
};

TEST_F(MnistFiles, are_read_and_normalised) {
  const Mnist mnist(write("i", images(20)), write("l", labels(20)));
  EXPECT_EQ(mnist.size(), 20);
  EXPECT_EQ(mnist.image_shape(), Shape({1, 2, 3}));
  std::vector<float> pixels(12);
  std::vector<int32_t> classes(2);
  const std::vector<int64_t> indices = {13, 4};
  mnist.fill(indices, {pixels.data(), DType::f32, classes});
  EXPECT_EQ(classes, (std::vector<int32_t>{3, 4}));
  for (size_t i = 0; i < 6; ++i) {
    const auto byte = static_cast<uint8_t>((13 * 6 + i) * 7);
    EXPECT_NEAR(pixels[i], (static_cast<float>(byte) / 255 - 0.1307) / 0.3081, 1e-5);
  }
  std::vector<BFloat16> rounded(12);
  mnist.fill(indices, {rounded.data(), DType::bf16, classes});
  for (size_t i = 0; i < 12; ++i) EXPECT_EQ(rounded[i].bits, BFloat16(pixels[i]).bits);
}

TEST_F(MnistFiles, compressed_ones_give_the_same) {
  const fs::path plain = write("i", images(20));
  ASSERT_EQ(std::system(("gzip -k " + plain.string()).c_str()), 0);
  EXPECT_EQ(read_idx(plain, 3).values, read_idx(plain.string() + ".gz", 3).values);
}

TEST_F(MnistFiles, truncated_file_says_where) {
  const std::string text = refusal([&] { read_idx(write("i", images(20).substr(0, 100)), 3); });
  EXPECT_THAT(text, HasSubstr("truncated at offset 100"));
  EXPECT_THAT(text, HasSubstr("expected 120 values"));
  EXPECT_THAT(text, HasSubstr("found 84"));
  EXPECT_THAT(refusal([&] { read_idx(write("h", images(20).substr(0, 6)), 3); }),
              HasSubstr("truncated at offset 6"));
}

TEST_F(MnistFiles, damaged_compression_is_refused) {
  const fs::path plain = write("i", images(2000));
  ASSERT_EQ(std::system(("gzip -f " + plain.string()).c_str()), 0);
  fs::resize_file(plain.string() + ".gz", 60);
  EXPECT_THROW(read_idx(plain.string() + ".gz", 3), RequestError);
}

TEST_F(MnistFiles, wrong_magic_says_expected_and_found) {
  const std::string text = refusal([&] { read_idx(write("i", labels(20)), 3); });
  EXPECT_THAT(text, HasSubstr("expected 0x00000803, found 0x00000801"));
  EXPECT_THAT(refusal([&] { read_idx(write("t", "hello, world"), 1); }), HasSubstr("offset 0"));
}

TEST_F(MnistFiles, a_header_that_promises_too_much_is_refused_without_taking_memory) {
  const std::string text = refusal([&] {
    read_idx(write("i", word(0x803) + word(0xffffffff) + word(0xffffffff) + word(28)), 3);
  });
  EXPECT_THAT(text, HasSubstr("offset 8"));
  EXPECT_THAT(refusal([&] {
                read_idx(write("j", word(0x803) + word(1000000) + word(1000) + word(1000) + "xy"),
                         3);
              }),
              HasSubstr("found 2"));
}

TEST_F(MnistFiles, bytes_after_the_end_are_refused) {
  EXPECT_THAT(refusal([&] { read_idx(write("i", labels(5) + "x"), 1); }), HasSubstr("offset 13"));
}

TEST_F(MnistFiles, a_label_out_of_range_says_where) {
  std::string bytes = labels(20);
  bytes[8 + 11] = 10;
  EXPECT_THAT(refusal([&] { Mnist(write("i", images(20)), write("l", bytes)); }),
              HasSubstr("offset 19 expected a label from 0 to 9, found 10"));
}

TEST_F(MnistFiles, counts_that_differ_are_refused) {
  const std::string text = refusal([&] { Mnist(write("i", images(20)), write("l", labels(19))); });
  EXPECT_THAT(text, HasSubstr("20 images"));
  EXPECT_THAT(text, HasSubstr("19 labels"));
}

TEST_F(MnistFiles, that_are_not_there_are_looked_for_in_every_place) {
  const std::string text = refusal([&] { open_mnist({}, directory_ / "home"); });
  if (!has_mnist("build/data/mnist")) {
    EXPECT_THAT(text, HasSubstr("build/data/mnist"));
    EXPECT_THAT(text, HasSubstr((directory_ / "home" / "syrtos" / "mnist").string()));
    EXPECT_THAT(text, HasSubstr("tools/bootstrap"));
  }
  EXPECT_THAT(refusal([&] { open_mnist(directory_, "home"); }),
              HasSubstr("expected train-images-idx3-ubyte"));
}

TEST_F(MnistFiles, are_opened_as_a_pair) {
  write("train-images-idx3-ubyte", images(20));
  write("train-labels-idx1-ubyte", labels(20));
  write("t10k-images-idx3-ubyte", images(7));
  write("t10k-labels-idx1-ubyte", labels(7));
  const DataPair pair = open_mnist(directory_, "home");
  EXPECT_EQ(pair.train->size(), 20);
  EXPECT_EQ(pair.test->size(), 7);
}

}  // namespace
}  // namespace syrtos::data
