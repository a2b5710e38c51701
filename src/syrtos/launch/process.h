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
  /// Writes to its standard input; lost if the process is gone.
  void tell(const std::string& text) const;

  Descriptor input;  ///< a socket: writing to a process that is gone raises no signal
  Descriptor output;
  Descriptor error;

 private:
  struct Ends;
  Process(const std::vector<std::string>& arguments, Ends ends);

  Descriptor handle_;
};

}  // namespace syrtos::launch
