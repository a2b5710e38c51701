#include "syrtos/data/fetch/process.h"

#include <fcntl.h>
#include <fmt/ranges.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "syrtos/base/child.h"
#include "syrtos/base/clock.h"
#include "syrtos/base/descriptor.h"
#include "syrtos/base/error.h"
#include "syrtos/base/format.h"
#include "syrtos/base/log.h"

namespace syrtos::data {

namespace {

constexpr int kPollMilliseconds = 100;

// Keeps the last bytes of what a program prints.
class Output {
 public:
  Output(int descriptor, size_t most) : descriptor_(descriptor), most_(most) {}

  /// Reads once, so that a program that prints without pause does not keep us from anything else.
  /// Whether there may be more.
  bool read() {
    const ssize_t got = ::read(descriptor_, block_.data(), block_.size());
    if (got > 0) text_.append(block_.data(), static_cast<size_t>(got));
    if (text_.size() > 2 * most_) text_.erase(0, text_.size() - most_);
    return got > 0 || (got < 0 && (errno == EAGAIN || errno == EINTR));
  }
  /// Reads what is in the pipe now: what is written later is not the program's.
  void drain() {
    int left = 0;
    if (ioctl(descriptor_, FIONREAD, &left) != 0) return;
    for (auto steps = static_cast<size_t>(left) / block_.size() + 1; steps > 0; --steps) read();
  }
  std::string last() const {
    return text_.size() > most_ ? text_.substr(text_.size() - most_) : text_;
  }

 private:
  int descriptor_;
  size_t most_;
  std::string text_;
  std::array<char, 8192> block_{};
};

// The last lines, one after the other, for an error message.
std::string last_lines(const std::string& output) {
  constexpr size_t kLines = 3;
  std::vector<std::string> lines;
  for (size_t at = 0; at < output.size();) {
    const size_t end = std::min(output.find('\n', at), output.size());
    if (end > at) lines.push_back(output.substr(at, end - at));
    at = end + 1;
  }
  if (lines.size() > kLines) lines.erase(lines.begin(), lines.end() - kLines);
  return lines.empty() ? "it printed nothing"
                       : fmt::format("its last words: {}", fmt::join(lines, " | "));
}

}  // namespace

std::string run_command(const Command& command, const std::function<bool()>& should_stop) {
  const std::string shown = fmt::format("{}", fmt::join(command.arguments, " "));
  log_info("running '{}'", shown);
  const Descriptor nothing(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  Pipe pipe;
  const int reading = pipe.reading.get();
  const int writing = pipe.writing.get();
  Child child(command.arguments, {nothing.get(), writing, writing}, command.directory);
  pipe.writing.close();
  fcntl(reading, F_SETFL, O_NONBLOCK);

  const Clock::time_point deadline = Clock::now() + command.deadline;
  Output output(reading, command.most_output);
  for (bool open = true; open;) {
    if (should_stop && should_stop()) fail_run("'{}' was stopped", shown);
    if (Clock::now() > deadline) {
      fail_run("'{}' did not end within {}; {}", shown,
               format_duration(std::chrono::duration<double>(command.deadline).count()),
               last_lines(output.last()));
    }
    // A process that the program left behind may hold the pipe open for ever: the program's own
    // end counts.
    if (child.ended()) break;
    pollfd event{.fd = reading, .events = POLLIN, .revents = 0};
    poll(&event, 1, kPollMilliseconds);
    open = output.read();
  }
  // The pipe is closed; what is left is the end itself, which has the same deadline.
  while (!child.ended()) {
    if (should_stop && should_stop()) fail_run("'{}' was stopped", shown);
    if (Clock::now() > deadline) fail_run("'{}' closed its output but did not end", shown);
    poll(nullptr, 0, kPollMilliseconds / 10);
  }
  output.drain();
  if (const Ending ending = *child.ended(); !ending.good()) {
    fail_run("'{}' {}; {}", shown, ending.text(), last_lines(output.last()));
  }
  return output.last();
}

}  // namespace syrtos::data
