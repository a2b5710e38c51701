#include "syrtos/launch/ask.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>

#include "syrtos/base/clock.h"
#include "syrtos/base/descriptor.h"
#include "syrtos/base/error.h"

namespace syrtos::launch {

namespace {

constexpr int kTick = 50;  // milliseconds
constexpr size_t kMostText = 65536;
constexpr int kBlocksAtOnce = 4;

Descriptor open_input(const std::filesystem::path& file) {
  Descriptor input(open(file.c_str(), O_RDONLY | O_CLOEXEC));
  if (!input.valid()) fail_run("{} cannot be read: {}", file.string(), std::strerror(errno));
  return input;
}

/// One command that runs.
class Running {
 public:
  explicit Running(const Asked& asked) : Running(asked, open_input(asked.input), {}, {}) {}

  /// Whether it has ended and all that it said is in the answer.
  bool step(Answer& answer) {
    answer.ending = child_.ended();
    read(output_, answer.output);
    read(error_, answer.error);
    return answer.ending.has_value();
  }

  void watch(std::vector<pollfd>& events) const {
    for (const Descriptor* from : {&output_, &error_}) {
      if (from->valid()) events.push_back({.fd = from->get(), .events = POLLIN, .revents = 0});
    }
  }

 private:
  Running(const Asked& asked, const Descriptor& input, Pipe output, Pipe error)
      : child_(asked.command, {input.get(), output.writing.get(), error.writing.get()}),
        output_(std::move(output.reading)),
        error_(std::move(error.reading)) {
    for (const Descriptor* end : {&output_, &error_}) fcntl(end->get(), F_SETFL, O_NONBLOCK);
  }

  static void read(Descriptor& from, std::string& text) {
    std::array<char, 4096> block;
    // Whoever prints without an end must not keep us from the others, and from the deadline.
    for (int blocks = 0; from.valid() && blocks < kBlocksAtOnce; ++blocks) {
      const ssize_t count = ::read(from.get(), block.data(), block.size());
      if (count < 0 && errno == EINTR) continue;
      if (count == 0) from.close();
      if (count <= 0) return;
      if (text.size() < kMostText) text.append(block.data(), static_cast<size_t>(count));
    }
  }

  Child child_;
  Descriptor output_;
  Descriptor error_;
};

}  // namespace

std::vector<Answer> ask_all(const std::vector<Asked>& asked, const AskOptions& options) {
  std::vector<Answer> answers(asked.size());
  std::vector<std::unique_ptr<Running>> running(asked.size());
  const Clock::time_point deadline = Clock::now() + options.deadline;
  size_t begun = 0;
  size_t ended = 0;
  while (ended < asked.size() && Clock::now() < deadline) {
    if (options.should_stop && options.should_stop())
      fail_run("interrupted while {}", options.what);
    for (; begun < asked.size() && begun - ended < options.at_once; ++begun) {
      running[begun] = std::make_unique<Running>(asked[begun]);
    }
    std::vector<pollfd> events;
    for (size_t i = 0; i < begun; ++i) {
      if (!running[i]) continue;
      if (running[i]->step(answers[i])) {
        running[i].reset();
        ++ended;
      } else {
        running[i]->watch(events);
      }
    }
    if (ended < begun) poll(events.data(), events.size(), kTick);
  }
  return answers;
}

}  // namespace syrtos::launch
