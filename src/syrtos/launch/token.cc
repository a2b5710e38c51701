#include "syrtos/launch/token.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>

#include "syrtos/base/error.h"
#include "syrtos/base/secret.h"
#include "syrtos/launch/wait.h"

namespace syrtos::launch {

std::string read_token(int input, std::chrono::milliseconds timeout) {
  const Clock::time_point deadline = Clock::now() + timeout;
  std::string token;
  // One byte at a time: what follows the line is not ours.
  for (char next = 0; token.size() <= kTokenLength;) {
    const int left = milliseconds_until(deadline);
    pollfd event{.fd = input, .events = POLLIN, .revents = 0};
    if (left <= 0 || poll(&event, 1, left) == 0) break;
    const ssize_t got = ::read(input, &next, 1);
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (got <= 0 || next == '\n') break;
    token += next;
  }
  if (token.size() == kTokenLength) return token;
  fail_run(
      "expected the job's token on standard input, found {} of {} characters; ranks are started by "
      "the launcher, not by hand",
      token.size(), kTokenLength);
}

}  // namespace syrtos::launch
