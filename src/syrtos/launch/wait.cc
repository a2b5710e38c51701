#include "syrtos/launch/wait.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace syrtos::launch {

int milliseconds_until(Clock::time_point moment) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(moment - Clock::now()).count();
  return static_cast<int>(std::clamp<int64_t>(left, 0, 1 << 30));
}

bool at_end(int input) {
  std::array<char, 256> ignored;
  const ssize_t got = read(input, ignored.data(), ignored.size());
  return got == 0 || (got < 0 && errno != EINTR && errno != EAGAIN);
}

}  // namespace syrtos::launch
