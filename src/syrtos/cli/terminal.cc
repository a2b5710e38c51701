#include "syrtos/cli/terminal.h"

#include <sys/ioctl.h>

#include <cstdint>
#include <utility>

namespace syrtos::cli {

namespace {

/// In UTF-8, every byte but those of the form 10xxxxxx begins a character.
bool begins_character(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) != 0x80; }

/// The character that begins at text[at].
uint32_t character_at(std::string_view text, size_t at) {
  const auto first = static_cast<unsigned char>(text[at]);
  const int more = first >= 0xF0 ? 3 : first >= 0xE0 ? 2 : first >= 0xC0 ? 1 : 0;
  uint32_t value = more == 0 ? first : first & (0x3FU >> more);
  for (int i = 1; i <= more && at + static_cast<size_t>(i) < text.size(); ++i) {
    value = value << 6 | (static_cast<unsigned char>(text[at + static_cast<size_t>(i)]) & 0x3FU);
  }
  return value;
}

/// Hangul, Chinese and Japanese, wide forms and pictures.
int width_of_character(uint32_t c) {
  constexpr std::pair<uint32_t, uint32_t> kWide[] = {
      {0x1100, 0x115F}, {0x2E80, 0xA4CF}, {0xAC00, 0xD7A3},   {0xF900, 0xFAFF},
      {0xFE30, 0xFE6F}, {0xFF00, 0xFF60}, {0x1F300, 0x1FAFF}, {0x20000, 0x3FFFD}};
  for (const auto& [from, to] : kWide) {
    if (from <= c && c <= to) return 2;
  }
  return 1;
}

}  // namespace

int columns_of(std::FILE* out) {
  constexpr int kUsual = 80;
  winsize size{};
  return ioctl(fileno(out), TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : kUsual;
}

int width_of(std::string_view text) {
  int width = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (begins_character(text[i])) width += width_of_character(character_at(text, i));
  }
  return width;
}

std::string cut(const std::string& text, int columns) {
  if (width_of(text) <= columns) return text;
  int width = 1;  // of the dots
  size_t end = 0;
  for (; end < text.size(); ++end) {
    if (!begins_character(text[end])) continue;
    width += width_of_character(character_at(text, end));
    if (width > columns) break;
  }
  return text.substr(0, end) + (columns > 0 ? "…" : "");
}

}  // namespace syrtos::cli
