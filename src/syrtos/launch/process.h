#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "syrtos/launch/descriptor.h"

namespace syrtos::launch {

/// How a process ended.
struct Ending {
  int code = 0;    ///< its exit code, if no signal
  int signal = 0;  ///< 0: none

  bool good() const { return code == 0 && signal == 0; }
  /// "was ended by signal 9 (Killed)", "ended with exit code 1".
  std::string text() const;
};

/// A program in a process group of its own, with pipes to its standard input, output and error
/// output (our ends do not block). Nothing of the group is left when this goes out of scope; the
/// program itself also ends when this process, or the thread that made it, is killed.
class Process {
 public:
  /// Throws RunError.
  explicit Process(const std::vector<std::string>& arguments);
  Process(Process&& other) noexcept;
  Process& operator=(Process&&) = delete;
  ~Process();

  pid_t id() const { return id_; }
  /// Can be read (poll) when the process has ended.
  int handle() const { return handle_.get(); }
  /// Once it has ended: reaps it, and kills what is left of its group.
  std::optional<Ending> ended();
  /// To the whole group, while it runs.
  void signal(int number) const;
  /// To its standard input; lost if the process is gone.
  void tell(const std::string& text) const;

  Descriptor input;  ///< a socket: writing to a process that is gone raises no signal
  Descriptor output;
  Descriptor error;

 private:
  Ending reap();

  pid_t id_ = -1;
  Descriptor handle_;
  std::optional<Ending> ending_;
};

}  // namespace syrtos::launch
