#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

namespace syrtos::data {

/// Whether there is a regular file of that name.
bool is_file(const std::filesystem::path& path);

/// Reads a whole file into `to`, whose memory is used again. Throws RequestError.
void read_bytes(const std::filesystem::path& file, std::vector<uint8_t>& to);
std::vector<uint8_t> read_bytes(const std::filesystem::path& file);

}  // namespace syrtos::data
