#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

namespace syrtos {

/// How a process ended.
struct Ending {
  int code = 0;    ///< its exit code, if no signal
  int signal = 0;  ///< 0: none

  bool good() const { return code == 0 && signal == 0; }
  /// "was ended by signal 9 (Killed)", "ended with exit code 1".
  std::string text() const;
};

/// Descriptors that a program gets as its standard input, output and error output; above 2.
struct Streams {
  int input;
  int output;
  int error;
};

/// A program in a process group of its own. Nothing of the group is left when this goes out of
/// scope; the program itself also ends when this process is killed, and with the thread that made
/// it.
class Child {
 public:
  /// `arguments`: the program, looked up in PATH, and what it is told. `directory`: where it runs;
  /// empty: here. Throws RunError.
  Child(const std::vector<std::string>& arguments, Streams streams,
        const std::string& directory = "");
  Child(Child&& other) noexcept;
  Child& operator=(Child&&) = delete;
  ~Child();

  pid_t id() const { return id_; }
  /// How it ended, once it has: then it is reaped and what is left of its group is killed.
  std::optional<Ending> ended();
  /// It was killed or is exiting, and is not gone yet: on a busy machine that takes its time.
  bool is_ending() const;
  /// Sends a signal to the whole group, while it runs.
  void signal(int number) const;

 private:
  Ending reap();

  pid_t id_ = -1;
  std::optional<Ending> ending_;
};

}  // namespace syrtos
