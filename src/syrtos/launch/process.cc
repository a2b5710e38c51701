#include "syrtos/launch/process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <csignal>

#include <array>
#include <cerrno>
#include <cstring>

#include "syrtos/base/error.h"

namespace syrtos::launch {

namespace {

struct Pipe {
  Pipe() {
    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC) != 0) {
      fail_run("cannot make a pipe: {}; too many open files?", std::strerror(errno));
    }
    reading = Descriptor(ends[0]);
    writing = Descriptor(ends[1]);
  }
  Descriptor reading;
  Descriptor writing;
};

// What the new process does until it is the program: only what is allowed after fork() in a process
// with threads. Returns errno.
int become(char* const* arguments, int input, int output, int error, pid_t parent) {
  setpgid(0, 0);
  // It must not outlive us, even when we are killed; that may have happened just now.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);
  if (dup2(input, STDIN_FILENO) < 0 || dup2(output, STDOUT_FILENO) < 0 ||
      dup2(error, STDERR_FILENO) < 0) {
    return errno;
  }
  // Signals as a fresh program expects them.
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) ::signal(number, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  execvp(arguments[0], arguments);
  return errno;
}

// The pipes' ends have numbers above 2: a process that runs without standard streams is none of
// ours.
pid_t spawn(const std::vector<std::string>& words, int input, int output, int error_output) {
  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  Pipe failure;  // closed when the program begins
  const pid_t parent = getpid();
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);  // our handlers must not run in the child
  const pid_t id = fork();
  if (id == 0) {
    const int error = become(arguments.data(), input, output, error_output, parent);
    [[maybe_unused]] const ssize_t told = write(failure.writing.get(), &error, sizeof error);
    _exit(127);
  }
  int error = id < 0 ? errno : 0;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  failure.writing.reset();
  while (id > 0 && ::read(failure.reading.get(), &error, sizeof error) < 0 && errno == EINTR) {
  }
  if (error == 0) return id;
  if (id > 0) waitpid(id, nullptr, 0);
  fail_run("cannot start '{}': {}", words[0], std::strerror(error));
}

void do_not_block(const Descriptor& end) { fcntl(end.get(), F_SETFL, O_NONBLOCK); }

}  // namespace

std::string Ending::text() const {
  if (signal != 0) return fmt::format("was ended by signal {} ({})", signal, strsignal(signal));
  return fmt::format("ended with exit code {}", code);
}

Process::Process(const std::vector<std::string>& arguments) {
  SYRTOS_CHECK(!arguments.empty());
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    fail_run("cannot make a socket: {}; too many open files?", std::strerror(errno));
  }
  input = Descriptor(ends[0]);
  const Descriptor its_input(ends[1]);
  Pipe out;
  Pipe err;
  id_ = spawn(arguments, its_input.get(), out.writing.get(), err.writing.get());
  output = std::move(out.reading);
  error = std::move(err.reading);
  for (const Descriptor* end : {&input, &output, &error}) do_not_block(*end);
  handle_ = Descriptor(static_cast<int>(syscall(SYS_pidfd_open, id_, 0)));
}

Process::Process(Process&& other) noexcept
    : input(std::move(other.input)),
      output(std::move(other.output)),
      error(std::move(other.error)),
      id_(std::exchange(other.id_, -1)),
      handle_(std::move(other.handle_)),
      ending_(other.ending_) {}

Process::~Process() {
  if (id_ > 0 && !ending_) reap();
}

void Process::signal(int number) const {
  if (!ending_) kill(-id_, number);
}

void Process::tell(const std::string& text) const {
  send(input.get(), text.data(), text.size(), MSG_NOSIGNAL);
}

std::optional<Ending> Process::ended() {
  if (ending_) return ending_;
  siginfo_t info{};
  if (waitid(P_PID, static_cast<id_t>(id_), &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
      info.si_pid == 0) {
    return std::nullopt;
  }
  return reap();
}

// The group's number cannot be given to others before its leader is reaped.
Ending Process::reap() {
  kill(-id_, SIGKILL);
  int status = 0;
  while (waitpid(id_, &status, 0) < 0 && errno == EINTR) {
  }
  ending_ = WIFSIGNALED(status) ? Ending{.code = 0, .signal = WTERMSIG(status)}
                                : Ending{.code = WEXITSTATUS(status), .signal = 0};
  return *ending_;
}

}  // namespace syrtos::launch
