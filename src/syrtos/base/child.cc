#include "syrtos/base/child.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <utility>

#include "syrtos/base/descriptor.h"
#include "syrtos/base/error.h"

namespace syrtos {

namespace {

// What the new process does until it is the program: only what is allowed after fork() in a process
// with threads. Returns errno.
int become(char* const* arguments, const Streams& streams, const std::string& directory,
           pid_t parent) {
  setpgid(0, 0);
  // It must not outlive us, even when we are killed; that may have happened just now.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);
  if (dup2(streams.input, STDIN_FILENO) < 0 || dup2(streams.output, STDOUT_FILENO) < 0 ||
      dup2(streams.error, STDERR_FILENO) < 0) {
    return errno;
  }
  // A descriptor that is in its place already would be closed.
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) fcntl(stream, F_SETFD, 0);
  if (!directory.empty() && chdir(directory.c_str()) != 0) return errno;
  // A fresh program expects all signals to be as at the start.
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) ::signal(number, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  execvp(arguments[0], arguments);
  return errno;
}

// Not by posix_spawn, which cannot ask for the signal that tells of our own end.
pid_t spawn(const std::vector<std::string>& words, const Streams& streams,
            const std::string& directory) {
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
    const int error = become(arguments.data(), streams, directory, parent);
    [[maybe_unused]] const ssize_t told = write(failure.writing.get(), &error, sizeof error);
    _exit(127);
  }
  int error = id < 0 ? errno : 0;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  failure.writing.close();
  while (id > 0 && ::read(failure.reading.get(), &error, sizeof error) < 0 && errno == EINTR) {
  }
  if (error == 0) return id;
  if (id > 0) waitpid(id, nullptr, 0);
  if (error == ENOENT && words[0].find('/') == std::string::npos) {
    fail_run("expected the program '{}', found none in PATH; install it", words[0]);
  }
  fail_run("cannot start '{}': {}", words[0], std::strerror(error));
}

// Whether the kernel has begun to take this thread away: see proc(5).
bool is_exiting(pid_t id) {
  constexpr int kFlags = 6;                // fields behind the state
  constexpr unsigned long kExiting = 0x4;  // PF_EXITING
  std::ifstream in(fmt::format("/proc/{}/stat", id));
  std::string text;
  std::getline(in, text);
  std::istringstream fields(text.substr(text.rfind(')') + 1));  // names may have anything in them
  std::string state, field;
  fields >> state;
  for (int i = 0; i < kFlags; ++i) fields >> field;
  return state == "Z" || state == "X" || (std::strtoul(field.c_str(), nullptr, 10) & kExiting) != 0;
}

// Whether it was killed, and has not had a core since to notice.
bool is_killed(pid_t id) {
  constexpr std::string_view kPending = "SigPnd:";
  std::ifstream in(fmt::format("/proc/{}/status", id));
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with(kPending)) continue;
    return (std::strtoull(line.c_str() + kPending.size(), nullptr, 16) >> (SIGKILL - 1) & 1) != 0;
  }
  return false;
}

}  // namespace

std::string Ending::text() const {
  if (signal != 0) return fmt::format("was ended by signal {} ({})", signal, strsignal(signal));
  return fmt::format("ended with exit code {}", code);
}

Child::Child(const std::vector<std::string>& arguments, Streams streams,
             const std::string& directory) {
  SYRTOS_CHECK(!arguments.empty());
  id_ = spawn(arguments, streams, directory);
}

Child::Child(Child&& other) noexcept : id_(std::exchange(other.id_, -1)), ending_(other.ending_) {}

Child::~Child() {
  if (id_ > 0 && !ending_) reap();
}

void Child::signal(int number) const {
  if (id_ > 0 && !ending_) kill(-id_, number);
}

std::optional<Ending> Child::ended() {
  if (ending_) return ending_;
  siginfo_t info{};
  if (waitid(P_PID, static_cast<id_t>(id_), &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
      info.si_pid == 0) {
    return std::nullopt;
  }
  return reap();
}

bool Child::is_ending() const {
  // In this order: the signal is taken from the list before the thread begins to go.
  return id_ > 0 && !ending_ && (is_killed(id_) || is_exiting(id_));
}

// The group's number cannot be given to others before its leader is reaped.
Ending Child::reap() {
  kill(-id_, SIGKILL);
  int status = 0;
  while (waitpid(id_, &status, 0) < 0 && errno == EINTR) {
  }
  ending_ = WIFSIGNALED(status) ? Ending{.code = 0, .signal = WTERMSIG(status)}
                                : Ending{.code = WEXITSTATUS(status), .signal = 0};
  return *ending_;
}

}  // namespace syrtos
