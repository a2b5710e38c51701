#include "syrtos/launch/token.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>

#include "syrtos/base/error.h"
#include "syrtos/base/secret.h"
#include "syrtos/launch/wait.h"

namespace syrtos::launch {

namespace {

/// A line of at most so many characters, or what came of it in time. One byte at a time: what
/// follows the line is not ours.
std::string read_line(int input, size_t most, std::chrono::milliseconds timeout) {
  const Clock::time_point deadline = Clock::now() + timeout;
  std::string line;
  for (char next = 0; line.size() <= most;) {
    const int left = milliseconds_until(deadline);
    pollfd event{.fd = input, .events = POLLIN, .revents = 0};
    if (left <= 0 || poll(&event, 1, left) == 0) break;
    const ssize_t got = ::read(input, &next, 1);
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (got <= 0 || next == '\n') break;
    line += next;
  }
  return line;
}

}  // namespace

std::string read_token(int input, std::chrono::milliseconds timeout) {
  std::string token = read_line(input, kTokenLength, timeout);
  if (token.size() == kTokenLength) return token;
  fail_run(
      "expected the job's token on standard input, found {} of {} characters; ranks are started by "
      "the launcher, not by hand",
      token.size(), kTokenLength);
}

std::string read_task(int input, std::chrono::milliseconds timeout) {
  std::string task = read_line(input, kMostTask, timeout);
  if (!task.empty() && task.size() <= kMostTask) return task;
  fail_run(
      "expected what to do on standard input, found {} characters; ranks are started by the "
      "launcher, not by hand",
      task.size());
}

}  // namespace syrtos::launch
