#pragma once

#include <chrono>
#include <string>
#include <string_view>

namespace syrtos::launch {

/// 32 random bytes in hexadecimal: a job's token, or a challenge. It is never part of a command
/// line, which everybody on a machine can read.
std::string make_token();

/// HMAC-SHA256 in hexadecimal.
std::string seal(std::string_view token, std::string_view text);
/// Takes the same time wherever they differ.
bool same_secret(std::string_view a, std::string_view b);

/// Of a file, in hexadecimal. Throws RunError when it cannot be read.
std::string file_sha256(const std::string& path);

/// Reads the token that the launcher writes to a rank's standard input. Throws RunError when it
/// does not come.
std::string read_token(int input, std::chrono::milliseconds timeout);

}  // namespace syrtos::launch
