#include "syrtos/report/text.h"

#include <cstdint>
#include <functional>
#include <sstream>

namespace syrtos::report {

namespace {

constexpr char32_t kBroken = 0xFFFFFFFF;

struct Character {
  char32_t code = 0;  ///< kBroken: not UTF-8
  size_t bytes = 1;
};

Character character_at(const std::string& text, size_t at) {
  const auto first = static_cast<unsigned char>(text[at]);
  if (first < 0x80) return {first, 1};
  const size_t bytes = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || at + bytes > text.size()) return {kBroken, 1};
  char32_t code = first & (0xFFU >> (bytes + 1));
  for (size_t i = 1; i < bytes; ++i) {
    const auto next = static_cast<unsigned char>(text[at + i]);
    if ((next & 0xC0U) != 0x80) return {kBroken, 1};
    code = code << 6 | (next & 0x3FU);
  }
  constexpr char32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = code >= 0xD800 && code <= 0xDFFF;
  const bool no_character = code == 0xFFFE || code == 0xFFFF || code > 0x10FFFF;
  if (code < kLeast[bytes] || surrogate || no_character) return {kBroken, 1};
  return {code, bytes};
}

void each_character(const std::string& text,
                    const std::function<void(const Character&, size_t at)>& call) {
  for (size_t at = 0; at < text.size();) {
    const Character character = character_at(text, at);
    call(character, at);
    at += character.bytes;
  }
}

bool is_control(char32_t code) { return code < 0x20 || (code >= 0x7F && code < 0xA0); }
size_t columns_of(char32_t code) { return code >= 0x2E80 && code != kBroken ? 2 : 1; }

std::string replaced(const std::string& text, bool ascii) {
  std::string result;
  each_character(text, [&](const Character& character, size_t at) {
    if (character.code == kBroken || (ascii && character.code >= 0x80)) {
      result += '?';
    } else if (is_control(character.code)) {
      result += ' ';
    } else {
      result.append(text, at, character.bytes);
    }
  });
  return result;
}

}  // namespace

std::string clean_text(const std::string& text) { return replaced(text, false); }
std::string ascii_text(const std::string& text) { return replaced(text, true); }

std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    switch (c) {
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '&':
        result += "&amp;";
        break;
      case '"':
        result += "&quot;";
        break;
      default:
        result += c;
    }
  }
  return result;
}

size_t length_of(const std::string& text) {
  size_t length = 0;
  each_character(text,
                 [&](const Character& character, size_t) { length += columns_of(character.code); });
  return length;
}

std::string shortened(const std::string& text, size_t most) {
  if (length_of(text) <= most) return text;
  constexpr size_t kDots = 2;
  std::string result;
  size_t length = 0;
  bool full = false;
  each_character(text, [&](const Character& character, size_t at) {
    length += columns_of(character.code);
    full = full || length + kDots > most;
    if (!full) result.append(text, at, character.bytes);
  });
  return result + "..";
}

std::vector<std::string> wrapped(const std::string& text, size_t most) {
  std::vector<std::string> lines;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    word = shortened(word, most);
    if (!lines.empty() && length_of(lines.back()) + 1 + length_of(word) <= most) {
      lines.back() += " " + word;
    } else {
      lines.push_back(word);
    }
  }
  return lines;
}

}  // namespace syrtos::report
