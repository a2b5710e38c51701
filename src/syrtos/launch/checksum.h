#pragma once

#include <filesystem>
#include <string>

namespace syrtos::launch {

/// SHA-256 of a file, in hexadecimal digits. Throws RunError.
std::string file_sha256(const std::filesystem::path& file);

}  // namespace syrtos::launch
