#include "syrtos/data/formats/text_escapes.h"

#include <charconv>
#include <cstdint>

namespace syrtos::data {

namespace {

// Exactly `digits` hexadecimal digits from the front of `text`, which loses them.
std::optional<uint32_t> take_hex(std::string_view& text, size_t digits) {
  uint32_t value = 0;
  if (text.size() < digits) return std::nullopt;
  const auto [end, error] = std::from_chars(text.data(), text.data() + digits, value, 16);
  if (error != std::errc() || end != text.data() + digits) return std::nullopt;
  text.remove_prefix(digits);
  return value;
}

void append_utf8(std::string& to, uint32_t c) {
  const auto tail = [&](int shift) { to += static_cast<char>(0x80 | (c >> shift & 0x3f)); };
  if (c < 0x80) {
    to += static_cast<char>(c);
  } else if (c < 0x800) {
    to += static_cast<char>(0xc0 | c >> 6);
    tail(0);
  } else if (c < 0x10000) {
    to += static_cast<char>(0xe0 | c >> 12);
    tail(6), tail(0);
  } else {
    to += static_cast<char>(0xf0 | c >> 18);
    tail(12), tail(6), tail(0);
  }
}

}  // namespace

std::optional<std::string> decode_python_quotes(std::string_view text) {
  constexpr std::string_view kEscapes = "\\'\"nrt";
  constexpr std::string_view kMeanings = "\\'\"\n\r\t";
  if (text.size() < 2 || (text[0] != '\'' && text[0] != '"') || text.back() != text[0]) {
    return std::nullopt;
  }
  text = text.substr(1, text.size() - 2);
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    const char c = text[0];
    text.remove_prefix(1);
    if (c != '\\') {
      result += c;
      continue;
    }
    if (text.empty()) return std::nullopt;
    const char escape = text[0];
    text.remove_prefix(1);
    const size_t which = kEscapes.find(escape);
    if (which != std::string_view::npos) {
      result += kMeanings[which];
      continue;
    }
    const std::optional<uint32_t> byte = escape == 'x' ? take_hex(text, 2) : std::nullopt;
    if (!byte) return std::nullopt;
    result += static_cast<char>(*byte);
  }
  return result;
}

std::optional<std::string> decode_raw_unicode(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    const char c = text[0];
    if (c != '\\' || text.size() < 2 || (text[1] != 'u' && text[1] != 'U')) {
      append_utf8(result, static_cast<uint8_t>(c));
      text.remove_prefix(1);
      continue;
    }
    const size_t digits = text[1] == 'u' ? 4 : 8;
    text.remove_prefix(2);
    const std::optional<uint32_t> code = take_hex(text, digits);
    if (!code || *code > 0x10ffff) return std::nullopt;
    append_utf8(result, *code);
  }
  return result;
}

std::optional<std::string> utf8_to_latin1(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<uint8_t>(text[i]);
    if (c < 0x80) {
      result += text[i];
    } else if ((c == 0xc2 || c == 0xc3) && i + 1 < text.size() && (text[i + 1] & 0xc0) == 0x80) {
      result += static_cast<char>((c & 3) << 6 | (text[++i] & 0x3f));
    } else {
      return std::nullopt;
    }
  }
  return result;
}

}  // namespace syrtos::data
