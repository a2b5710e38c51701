#include "syrtos/launch/token.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "syrtos/base/error.h"
#include "syrtos/base/secret.h"
#include "syrtos/launch/wait.h"

namespace syrtos::launch {

namespace {

/// A line of at most so many characters, or what came of it in time. Reads so many bytes at once:
/// one where what follows the line is not ours.
std::string read_line(int input, size_t most, std::chrono::milliseconds timeout, size_t at_once) {
  const Clock::time_point deadline = Clock::now() + timeout;
  std::string line;
  std::string part(at_once, '\0');
  while (line.size() <= most) {
    const int left = milliseconds_until(deadline);
    pollfd event{.fd = input, .events = POLLIN, .revents = 0};
    if (left <= 0) break;
    const int ready = poll(&event, 1, left);
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) break;
    const ssize_t got = ::read(input, part.data(), part.size());
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (got <= 0) break;
    const auto end = std::find(part.begin(), part.begin() + got, '\n');
    line.append(part.begin(), end);
    if (end != part.begin() + got) break;
  }
  return line;
}

}  // namespace

std::string read_token(int input, std::chrono::milliseconds timeout) {
  std::string token = read_line(input, kTokenLength, timeout, 1);
  if (token.size() == kTokenLength) return token;
  fail_run(
      "expected the job's token on standard input, found {} of {} characters; ranks are started by "
      "the launcher, not by hand",
      token.size(), kTokenLength);
}

std::string read_task(int input, std::chrono::milliseconds timeout) {
  std::string task = read_line(input, kMostTask, timeout, 1 << 16);  // the last that is said
  if (!task.empty() && task.size() <= kMostTask) return task;
  fail_run(
      "expected what to do on standard input, found {} characters; ranks are started by the "
      "launcher, not by hand",
      task.size());
}

}  // namespace syrtos::launch
