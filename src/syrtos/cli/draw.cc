#include "syrtos/cli/draw.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>

namespace syrtos::cli {

void draw(const report::Chart& chart, const Context& context) {
  const bool terminal = isatty(STDOUT_FILENO) != 0;
  winsize size{};
  const bool known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  const report::TerminalOptions options = {
      .columns = known ? std::min<int>(size.ws_col, 110) : 80,
      .rows = known && size.ws_row > 0 ? std::clamp<int>(size.ws_row - 4, 14, 28) : 22,
      .unicode = terminal,
      .colour = terminal && context.environment.colour};
  fmt::print("{}", report::to_text(chart, options));
}

}  // namespace syrtos::cli
