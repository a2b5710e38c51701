#include "syrtos/launch/launch.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include "syrtos/base/error.h"
#include "syrtos/launch/supervisor.h"

namespace syrtos::launch {

LaunchEnd launch(const LaunchOptions& options) {
  SYRTOS_CHECK(!options.command.empty() && !options.placements.empty());
  return Supervisor(options).run();
}

std::array<int, 2> terminal_columns() {
  constexpr int kUsual = 80;
  std::array<int, 2> columns{};
  for (const int descriptor : {STDOUT_FILENO, STDERR_FILENO}) {
    winsize size{};
    if (isatty(descriptor) == 0) continue;
    const bool known = ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
    columns[descriptor == STDOUT_FILENO ? 0 : 1] = known ? size.ws_col : kUsual;
  }
  return columns;
}

}  // namespace syrtos::launch
