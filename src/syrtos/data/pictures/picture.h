#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace syrtos::data {

/// A picture as bytes, [height, width, channels].
struct Picture {
  int64_t height = 0;
  int64_t width = 0;
  int64_t channels = 0;  ///< 1 (grey) or 3 (red, green, blue)
  std::vector<uint8_t> pixels = {};
};

/// Decodes JPEG, PNG, WebP, BMP or binary PNM, found out from the first bytes; 8-bit grey or colour
/// comes out. Alpha is laid over black, 16 bits are rounded to 8, colour profiles and the
/// orientation that a camera noted (EXIF) are ignored. Throws RequestError that says `name`, the
/// offset, what was expected and what was found; more than 64 Mi pixels are refused.
Picture decode_picture(std::span<const uint8_t> bytes, const std::string& name);

/// The same with 1 or 3 channels, whatever the file has, into memory that is used again: `values`
/// grows only for a picture larger than all before.
void decode_into(std::span<const uint8_t> bytes, const std::string& name, int channels,
                 std::vector<uint8_t>& values, int64_t& height, int64_t& width);

/// What the header of a picture says; no pixels. Throws as decode_picture().
Picture look_at_picture(std::span<const uint8_t> bytes, const std::string& name);

/// Reads and decodes a file.
Picture read_picture(const std::filesystem::path& file);

/// Writes a PNG that appears under its name when it is complete. Throws RunError.
void write_png(const std::filesystem::path& file, const Picture& picture);

/// Whether the name ends like those of pictures that can be read (.jpg, .jpeg, .png, ...), in upper
/// or lower case.
bool has_picture_name(const std::filesystem::path& file);
/// Those ends, for people: ".jpg, .jpeg, ...".
std::string picture_names();

/// Refuses what a decoder must not take memory for. Throws RequestError.
void check_picture_size(const std::string& name, uint64_t height, uint64_t width);

}  // namespace syrtos::data
