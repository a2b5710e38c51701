#include "syrtos/data/process.h"

#include <fcntl.h>
#include <fmt/ranges.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "syrtos/base/error.h"
#include "syrtos/base/format.h"

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

// What the new process does until it is the program: only what is allowed after fork() in a process
// with threads. Returns errno.
int become(const Command& command, char* const* arguments, int output, pid_t parent) {
  setpgid(0, 0);
  // It must not outlive us, even when we are killed; that may have happened just now.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);
  const int input = open("/dev/null", O_RDONLY);
  if (input < 0 || dup2(input, STDIN_FILENO) < 0 || dup2(output, STDOUT_FILENO) < 0 ||
      dup2(output, STDERR_FILENO) < 0) {
    return errno;
  }
  if (input > STDERR_FILENO) close(input);
  if (!command.directory.empty() && chdir(command.directory.c_str()) != 0) return errno;
  // Signals as a fresh program expects them.
  for (const int number : {SIGINT, SIGTERM, SIGPIPE}) signal(number, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  execvp(arguments[0], arguments);
  return errno;
}

// Starts the program in a process group of its own. Not by posix_spawn, which cannot ask for the
// signal that tells of our own end.
pid_t spawn(const Command& command, int output) {
  std::vector<char*> arguments;
  for (const std::string& argument : command.arguments) {
    arguments.push_back(const_cast<char*>(argument.c_str()));
  }
  arguments.push_back(nullptr);
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) fail_run("cannot make a pipe: {}", std::strerror(errno));
  const Descriptor reading(ends[0]);
  Descriptor writing(ends[1]);  // closed when the program begins
  const pid_t parent = getpid();
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);  // our handlers must not run in the child
  const pid_t id = fork();
  if (id == 0) {
    const int error = become(command, arguments.data(), output, parent);
    [[maybe_unused]] const ssize_t told = write(writing.get(), &error, sizeof error);
    _exit(127);
  }
  int error = id < 0 ? errno : 0;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  writing.reset();
  while (id > 0 && ::read(reading.get(), &error, sizeof error) < 0 && errno == EINTR) {
  }
  if (error == 0) return id;
  if (id > 0) waitpid(id, nullptr, 0);
  if (error == ENOENT) {
    fail_run("expected the program '{}', found none in PATH; install it", command.arguments[0]);
  }
  fail_run("cannot start '{}': {}", command.arguments[0], std::strerror(error));
}

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
  Output output(reading.get(), command.most_output);
  for (bool open = true; open;) {
    if (should_stop && should_stop()) fail_run("'{}' was stopped", shown);
    if (Clock::now() > deadline) {
      fail_run("'{}' did not end within {}; its last words: {}", shown,
               format_duration(std::chrono::duration<double>(command.deadline).count()),
               last_lines(output.last()));
    }
    // A process that the program left behind may hold the pipe open for ever: the program's own
    // end counts.
    if (child.ended()) break;
    pollfd event{.fd = reading.get(), .events = POLLIN, .revents = 0};
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
  const int status = child.wait();
  if (WIFSIGNALED(status)) {
    fail_run("'{}' was ended by signal {}; its last words: {}", shown, WTERMSIG(status),
             last_lines(output.last()));
  }
  if (WEXITSTATUS(status) != 0) {
    fail_run("'{}' ended with exit code {}: {}", shown, WEXITSTATUS(status),
             last_lines(output.last()));
  }
  return output.last();
}

}  // namespace syrtos::data
