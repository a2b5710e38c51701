#include "syrtos/cli/status_line.h"

#include <fmt/format.h>
#include <unistd.h>

#include "syrtos/cli/terminal.h"

namespace syrtos::cli {

StatusLine::StatusLine(std::FILE* out)
    : out_(out != nullptr && isatty(fileno(out)) != 0 ? out : nullptr) {}

void StatusLine::show(const std::string& text) {
  constexpr auto kRedraw = std::chrono::milliseconds(50);
  const auto now = std::chrono::steady_clock::now();
  if (out_ == nullptr || (drawn_ && now - last_drawn_ < kRedraw)) return;
  last_drawn_ = now;
  drawn_ = true;
  fmt::print(out_, "\r\x1b[K{}", cut(text, columns_of(out_) - 1));
  std::fflush(out_);
}

void StatusLine::clear() {
  if (drawn_) fmt::print(out_, "\r\x1b[K");
  drawn_ = false;
  if (out_ != nullptr) std::fflush(out_);
}

}  // namespace syrtos::cli
