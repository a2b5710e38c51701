#pragma once

#include <chrono>
#include <string>

namespace syrtos::launch {

/// Reads the token (see random_token) that the launcher writes to a rank's standard input. Throws
/// RunError when it does not come.
std::string read_token(int input, std::chrono::milliseconds timeout);

}  // namespace syrtos::launch
