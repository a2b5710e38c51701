#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "syrtos/base/child.h"

namespace syrtos::launch {

/// A command to run beside others.
struct Asked {
  std::vector<std::string> command;
  std::filesystem::path input = "/dev/null";  ///< A file that it reads.
};

/// What it said; cut after 64 kB.
struct Answer {
  std::optional<Ending> ending;  ///< None: it had not ended in time.
  std::string output;
  std::string error;
};

struct AskOptions {
  std::chrono::milliseconds deadline = std::chrono::seconds(20);  ///< for all of them
  size_t at_once = 64;
  std::function<bool()> should_stop = {};
  std::string what;  ///< what is interrupted then: "asking the hosts"
};

/// Runs all of them, several at a time, until all have ended or the time is up; those that are left
/// then are killed. Blocks. Throws RunError when it is interrupted.
std::vector<Answer> ask_all(const std::vector<Asked>& asked, const AskOptions& options);

}  // namespace syrtos::launch
