#include "syrtos/data/formats/plain_text.h"

#include <array>
#include <map>

#include "syrtos/base/error.h"
#include "syrtos/data/files/file_bytes.h"

namespace syrtos::data {

namespace fs = std::filesystem;

namespace {

constexpr int64_t kTestStep = 8;  // characters between the beginnings of test windows
constexpr size_t kMostCharacters = 65536;

/// The character at `at`, which is moved behind it; throws for what is no UTF-8.
char32_t next_character(const std::vector<uint8_t>& bytes, size_t& at, const fs::path& file) {
  const uint8_t first = bytes[at];
  const size_t more = first < 0x80 ? 0 : first >> 5 == 6 ? 1 : first >> 4 == 14 ? 2 : 3;
  constexpr std::array<char32_t, 4> kLeast{0, 0x80, 0x800, 0x10000};
  char32_t character = more == 0 ? first : first & (0x3FU >> more);
  bool valid = (more < 3 && (first < 0x80 || first >= 0xC0)) || first >> 3 == 30;
  for (size_t i = 1; valid && i <= more; ++i) {
    valid = at + i < bytes.size() && bytes[at + i] >> 6 == 2;
    if (valid) character = character << 6 | (bytes[at + i] & 0x3FU);
  }
  const bool surrogate = character >= 0xD800 && character < 0xE000;
  if (!valid || character < kLeast[more] || character > 0x10FFFF || surrogate) {
    fail_request("{}: byte {}: expected text in UTF-8, found 0x{:02x}: convert it, as with iconv",
                 file.string(), at, first);
  }
  at += more + 1;
  return character;
}

std::vector<char32_t> characters_of(const fs::path& file) {
  const std::vector<uint8_t> bytes = read_bytes(file);
  std::vector<char32_t> characters;
  characters.reserve(bytes.size());
  const bool marked = bytes.size() >= 3 && bytes[0] == 0xEF && bytes[1] == 0xBB && bytes[2] == 0xBF;
  for (size_t at = marked ? 3 : 0; at < bytes.size();) {
    characters.push_back(next_character(bytes, at, file));
  }
  return characters;
}

std::string utf8_of(char32_t c) {
  std::string text;
  if (c < 0x80) {
    text += static_cast<char>(c);
    return text;
  }
  const int more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
  constexpr std::array<unsigned, 4> kFirst{0, 0xC0, 0xE0, 0xF0};
  text += static_cast<char>(kFirst[static_cast<size_t>(more)] | c >> (6 * more));
  for (int i = more - 1; i >= 0; --i) text += static_cast<char>(0x80U | (c >> (6 * i) & 0x3FU));
  return text;
}

std::string name_of(char32_t c) {
  if (c == ' ') return "space";
  if (c == '\n') return "newline";
  if (c == '\t') return "tab";
  const bool control = c < 0x20 || (c >= 0x7F && c < 0xA0);
  return control ? fmt::format("U+{:04X}", static_cast<uint32_t>(c)) : utf8_of(c);
}

/// Windows of one part of a text.
class TextWindows : public Dataset {
 public:
  TextWindows(DatasetInfo info, std::shared_ptr<const std::vector<float>> numbers, int64_t begin,
              int64_t end, int64_t step)
      : numbers_(std::move(numbers)), begin_(begin), step_(step) {
    info_ = std::move(info);
    info_.size = (end - begin - kTextWindow - 1) / step + 1;
  }

  Target target(int64_t index) const override {
    return {.label = static_cast<int32_t>(*(first(index) + kTextWindow))};
  }
  Sample read(int64_t index, Scratch& /*scratch*/) const override {
    return {.values = first(index),
            .dtype = DType::f32,
            .channels = 1,
            .height = 1,
            .width = kTextWindow,
            .target = target(index)};
  }

 private:
  const float* first(int64_t index) const { return numbers_->data() + begin_ + index * step_; }

  std::shared_ptr<const std::vector<float>> numbers_;
  int64_t begin_;
  int64_t step_;
};

}  // namespace

bool has_plain_text(const fs::path& path) {
  std::error_code ignored;
  return path.extension() == ".txt" && fs::is_regular_file(path, ignored);
}

Splits open_plain_text(const fs::path& file) {
  const std::vector<char32_t> text = characters_of(file);
  const auto size = static_cast<int64_t>(text.size());
  const int64_t divide = size - size / 10;
  if (size - divide <= kTextWindow) {
    fail_request(
        "{}: expected text of {} characters or more, found {}: the last tenth, to measure with, is "
        "at least one window of {} and the character after it",
        file.string(), 10 * (kTextWindow + 1), size, kTextWindow);
  }
  std::map<char32_t, int> classes;
  for (const char32_t c : text) classes.emplace(c, 0);
  if (classes.size() > kMostCharacters) {
    fail_request("{}: expected at most {} different characters, found {}", file.string(),
                 kMostCharacters, classes.size());
  }
  DatasetInfo info{.name = file.string(),
                   .dtype = DType::f32,
                   .channels = 1,
                   .height = 1,
                   .width = kTextWindow,
                   .numbers = true};
  for (auto& [character, number] : classes) {
    number = static_cast<int>(info.classes.size());
    info.classes.push_back(name_of(character));
  }
  auto numbers = std::make_shared<std::vector<float>>(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    (*numbers)[i] = static_cast<float>(classes.at(text[i]));
  }
  return {std::make_unique<TextWindows>(info, numbers, 0, divide, kTextWindow),
          std::make_unique<TextWindows>(info, numbers, divide, size, kTestStep)};
}

}  // namespace syrtos::data
