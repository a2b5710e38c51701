#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace syrtos::data {

/// An external program to run: no shell is involved, so arguments need no quoting.
struct Command {
  std::vector<std::string> arguments;    ///< the program (looked up in PATH) and what it is told
  std::filesystem::path directory = {};  ///< where it runs; empty: here
  std::chrono::milliseconds deadline = std::chrono::minutes(10);
  size_t most_output = 64 * 1024;  ///< bytes of output kept: the last ones
};

/// Runs the command and waits for it: stdin is empty, stdout and stderr are collected and returned.
/// The command gets a process group of its own, which is killed and reaped when the deadline passes
/// or `should_stop` says so (asked some ten times a second); the command itself also when this
/// process or the calling thread is killed. Throws RunError that carries the program's last lines:
/// it cannot be started, fails, takes too long, or was stopped.
std::string run_command(const Command& command, const std::function<bool()>& should_stop);

}  // namespace syrtos::data
