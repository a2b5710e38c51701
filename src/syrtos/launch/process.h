#pragma once

#include <string>
#include <vector>

#include "syrtos/base/child.h"
#include "syrtos/base/descriptor.h"

namespace syrtos::launch {

/// A program with pipes to its standard input, output and error output; our ends do not block.
class Process : public Child {
 public:
  /// Throws RunError.
  explicit Process(const std::vector<std::string>& arguments);

  /// Can be read (poll) when the process has ended.
  int handle() const { return handle_.get(); }
  /// Writes to its standard input, as much as fits at once; the rest with further calls of
  /// tell_rest(), when `input` can be written (poll). Lost if the process is gone.
  void tell(const std::string& text);
  void tell_rest();
  bool has_more_to_tell() const { return !rest_.empty(); }

  Descriptor input;  ///< a socket: writing to a process that is gone raises no signal
  Descriptor output;
  Descriptor error;

 private:
  struct Ends;
  Process(const std::vector<std::string>& arguments, Ends ends);

  Descriptor handle_;
  std::string rest_;  // of what it is told
};

}  // namespace syrtos::launch
