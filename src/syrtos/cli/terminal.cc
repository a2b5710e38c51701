#include "syrtos/cli/terminal.h"

#include <sys/ioctl.h>

#include <algorithm>

namespace syrtos::cli {

namespace {

/// In UTF-8, every byte but those of the form 10xxxxxx begins a character.
bool begins_character(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) != 0x80; }

}  // namespace

int columns_of(std::FILE* out) {
  constexpr int kUsual = 80;
  winsize size{};
  return ioctl(fileno(out), TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : kUsual;
}

int width_of(std::string_view text) {
  return static_cast<int>(std::count_if(text.begin(), text.end(), begins_character));
}

std::string cut(const std::string& text, int columns) {
  if (width_of(text) <= columns) return text;
  int width = 0;
  size_t end = 0;
  while (end < text.size()) {
    if (begins_character(text[end]) && ++width >= columns) break;
    ++end;
  }
  return text.substr(0, end) + (columns > 0 ? "…" : "");
}

}  // namespace syrtos::cli
