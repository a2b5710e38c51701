#pragma once

#include <chrono>
#include <string>

namespace syrtos::launch {

/// Characters that a task can have: far above what networks that travel with it need.
constexpr size_t kMostTask = size_t{1} << 26;

/// Reads the token (see random_token) that the launcher writes to a rank's standard input. Throws
/// RunError when it does not come.
std::string read_token(int input, std::chrono::milliseconds timeout);

/// Reads what the ranks are to do, the line after the token (see LaunchOptions::task). Throws
/// RunError when it does not come.
std::string read_task(int input, std::chrono::milliseconds timeout);

}  // namespace syrtos::launch
