#pragma once

#include <chrono>
#include <string>

namespace syrtos::launch {

/// Characters that a task can have: what a pipe holds before anybody reads it.
constexpr size_t kMostTask = 60000;

/// Reads the token (see random_token) that the launcher writes to a rank's standard input. Throws
/// RunError when it does not come.
std::string read_token(int input, std::chrono::milliseconds timeout);

/// Reads what the ranks are to do, the line after the token (see LaunchOptions::task). Throws
/// RunError when it does not come.
std::string read_task(int input, std::chrono::milliseconds timeout);

}  // namespace syrtos::launch
