#include "syrtos/data/formats/plain_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/temporary.h"

namespace syrtos::data {
namespace {

using testing::HasSubstr;

class PlainText : public TemporaryDirectory {
 protected:
  std::filesystem::path write(const std::string& text) const {
    return TemporaryDirectory::write("some.txt", text);
  }
  std::string refused(const std::string& text) const {
    return refusal([&] { open_plain_text(write(text)); });
  }
};

std::string repeated(const std::string& piece, size_t characters) {
  std::string text;
  while (text.size() < characters) text += piece;
  return text.substr(0, characters);
}

TEST_F(PlainText, IsAFileThatIsCalledSo) {
  EXPECT_TRUE(has_plain_text(write("x")));
  EXPECT_FALSE(has_plain_text(directory_));
  EXPECT_FALSE(has_plain_text(directory_ / "other.txt"));
}

TEST_F(PlainText, GivesWindowsAndTheCharacterAfterThem) {
  const std::string text = repeated("abc \n", 2000);
  const Splits splits = open_plain_text(write(text));
  const DatasetInfo& info = splits.train->info();
  EXPECT_EQ(info.classes, (std::vector<std::string>{"newline", "space", "a", "b", "c"}));
  EXPECT_TRUE(info.numbers);
  EXPECT_EQ(info.shape(), (Shape{1, 1, 64}));
  // 1800 characters in windows of 64, each with one behind it; 200 in windows that begin every 8.
  EXPECT_EQ(splits.train->size(), 28);
  EXPECT_EQ(splits.test->size(), (200 - 65) / 8 + 1);

  const std::string order = "\n abc";
  const auto expect_window = [&](const Dataset& data, int64_t index, size_t begin) {
    Scratch scratch;
    const Sample sample = data.read(index, scratch);
    for (size_t i = 0; i < 64; ++i) {
      EXPECT_EQ(order[static_cast<size_t>(sample.floats()[i])], text[begin + i]) << i;
    }
    EXPECT_EQ(order[static_cast<size_t>(sample.target.label)], text[begin + 64]);
    EXPECT_EQ(data.label(index), sample.target.label);
  };
  expect_window(*splits.train, 0, 0);
  expect_window(*splits.train, 27, 27 * 64);
  expect_window(*splits.test, 0, 1800);
  expect_window(*splits.test, 16, 1800 + 16 * 8);
}

TEST_F(PlainText, KnowsCharactersOfSeveralBytes) {
  // A mark of the order of bytes is no character.
  const Splits splits = open_plain_text(write("\xEF\xBB\xBF" + repeated("aé€😀", 5000)));
  EXPECT_EQ(splits.train->info().classes, (std::vector<std::string>{"a", "é", "€", "😀"}));
}

TEST_F(PlainText, RefusesWhatIsNoText) {
  const std::string good = repeated("abc", 1000);
  EXPECT_THAT(refused(good + "\xE9" + good), HasSubstr("byte 1000: expected text in UTF-8"));
  EXPECT_THAT(refused(good + "\xC0\xAF" + good), HasSubstr("0xc0"));
  EXPECT_THAT(refused(good + "\xED\xA0\x80" + good), HasSubstr("0xed"));
  EXPECT_THAT(refused(good + "\xF0\x9F\x98"), HasSubstr("0xf0"));
  EXPECT_THAT(refused(repeated("abc", 640)), HasSubstr("650 characters or more, found 640"));
}

}  // namespace
}  // namespace syrtos::data
