#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "syrtos/base/child.h"

namespace syrtos::compare {

struct CommandOptions {
  double seconds = 600;            ///< then it is ended
  std::filesystem::path log = {};  ///< gets what it prints, as well, 64 MiB at most; empty: nothing
  std::function<bool()> should_stop = [] { return false; };
};

/// How a command ended and what it printed.
struct Done {
  Ending ending;
  bool timed_out = false;
  std::string output;  ///< standard output; of more than 16 MiB the end
  std::string error;   ///< standard error; the same

  /// The last lines of both, indented.
  std::string end_of_output() const;
};

/// Runs it to its end; blocks. Nothing of it is left running. Throws RunError when it cannot be
/// started or when it is interrupted.
Done run_command(const std::vector<std::string>& words, const CommandOptions& options);

}  // namespace syrtos::compare
