#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

namespace syrtos::data {

/// A picture as bytes, [height, width, channels].
struct Picture {
  int64_t height = 0;
  int64_t width = 0;
  int64_t channels = 0;
  std::vector<uint8_t> pixels;
};

/// Reads a binary PGM (P5) or PPM (P6) file with up to 255 levels. Throws RequestError that says
/// the file, the offset, what was expected and what was found.
Picture read_pnm(const std::filesystem::path& file);

}  // namespace syrtos::data
