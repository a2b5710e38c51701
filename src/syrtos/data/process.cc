#include "syrtos/data/process.h"

#include <fcntl.h>
#include <fmt/ranges.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "syrtos/base/error.h"
#include "syrtos/base/format.h"

extern char** environ;

namespace syrtos::data {

namespace {

using Clock = std::chrono::steady_clock;
constexpr int kPollMilliseconds = 100;

class Descriptor {
 public:
  explicit Descriptor(int descriptor = -1) : descriptor_(descriptor) {}
  ~Descriptor() { reset(); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  void reset(int descriptor = -1) {
    if (descriptor_ >= 0) close(descriptor_);
    descriptor_ = descriptor;
  }
  int get() const { return descriptor_; }

 private:
  int descriptor_;
};

// A process group of which nothing is left when this goes out of scope.
class Child {
 public:
  explicit Child(pid_t id) : id_(id) {}
  ~Child() {
    if (!reaped_) wait();
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  /// Whether it has ended; it stays a zombie, which keeps its number taken.
  bool ended() const {
    siginfo_t info{};
    return waitid(P_PID, static_cast<id_t>(id_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           info.si_pid != 0;
  }
  /// Ends the whole group: also after a normal end, what the program started must not outlive it.
  /// The group's number cannot be given to others before its leader is reaped.
  int wait() {
    kill(-id_, SIGKILL);
    int status = 0;
    while (waitpid(id_, &status, 0) < 0 && errno == EINTR) {
    }
    reaped_ = true;
    return status;
  }

 private:
  pid_t id_;
  bool reaped_ = false;
};

pid_t spawn(const Command& command, int output) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, output, STDERR_FILENO);
  if (!command.directory.empty()) {
    posix_spawn_file_actions_addchdir_np(&actions, command.directory.c_str());
  }
  // Signals as a fresh program expects them, in a group of its own.
  sigset_t none;
  sigset_t defaults;
  sigemptyset(&none);
  sigemptyset(&defaults);
  for (const int signal : {SIGINT, SIGTERM, SIGPIPE}) sigaddset(&defaults, signal);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  std::vector<char*> arguments;
  for (const std::string& argument : command.arguments) {
    arguments.push_back(const_cast<char*>(argument.c_str()));
  }
  arguments.push_back(nullptr);
  pid_t id = -1;
  const int error =
      posix_spawnp(&id, arguments[0], &actions, &attributes, arguments.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (error == ENOENT) {
    fail_run("expected the program '{}', found none in PATH; install it", command.arguments[0]);
  }
  if (error != 0) fail_run("cannot start '{}': {}", command.arguments[0], std::strerror(error));
  return id;
}

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
  return lines.empty() ? "it printed nothing" : fmt::format("{}", fmt::join(lines, " | "));
}

}  // namespace

std::string run_command(const Command& command, const std::function<bool()>& should_stop) {
  const std::string shown = fmt::format("{}", fmt::join(command.arguments, " "));
  std::array<int, 2> pipe_ends{};
  if (pipe2(pipe_ends.data(), O_CLOEXEC) != 0) fail_run("cannot make a pipe for '{}'", shown);
  const Descriptor reading(pipe_ends[0]);
  Descriptor writing(pipe_ends[1]);
  Child child(spawn(command, writing.get()));
  writing.reset();
  fcntl(reading.get(), F_SETFL, O_NONBLOCK);

  const Clock::time_point deadline = Clock::now() + command.deadline;
  std::string output;
  std::array<char, 8192> block{};
  for (bool open = true; open;) {
    if (should_stop && should_stop()) fail_run("'{}' was stopped", shown);
    if (Clock::now() > deadline) {
      fail_run("'{}' did not end within {}; its last words: {}", shown,
               format_duration(std::chrono::duration<double>(command.deadline).count()),
               last_lines(output));
    }
    // A process that the program left behind may hold the pipe open for ever: the program's own
    // end counts.
    const bool ended = child.ended();
    pollfd event{.fd = reading.get(), .events = POLLIN, .revents = 0};
    poll(&event, 1, ended ? 0 : kPollMilliseconds);
    for (;;) {
      const ssize_t got = ::read(reading.get(), block.data(), block.size());
      if (got > 0) output.append(block.data(), static_cast<size_t>(got));
      if (output.size() > 2 * command.most_output) {
        output.erase(0, output.size() - command.most_output);
      }
      if (got == 0) open = false;
      if (got <= 0) break;
    }
    if (ended) open = false;
  }
  // The pipe is closed; what is left is the end itself, which has the same deadline.
  while (!child.ended()) {
    if (should_stop && should_stop()) fail_run("'{}' was stopped", shown);
    if (Clock::now() > deadline) fail_run("'{}' closed its output but did not end", shown);
    poll(nullptr, 0, kPollMilliseconds / 10);
  }
  const int status = child.wait();
  if (output.size() > command.most_output) output.erase(0, output.size() - command.most_output);
  if (WIFSIGNALED(status)) {
    fail_run("'{}' was ended by signal {}; its last words: {}", shown, WTERMSIG(status),
             last_lines(output));
  }
  if (WEXITSTATUS(status) != 0) {
    fail_run("'{}' ended with exit code {}: {}", shown, WEXITSTATUS(status), last_lines(output));
  }
  return output;
}

}  // namespace syrtos::data
