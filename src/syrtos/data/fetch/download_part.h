#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace syrtos::data {

/// What the server said about a file of which a part is here.
struct Origin {
  std::string url;
  std::string tag;  ///< ETag or Last-Modified: the file is the same as long as this is
  int64_t length = 0;
};

/// FILE.part, where a download of FILE arrives.
std::filesystem::path part_of(const std::filesystem::path& file);

/// Where the part comes from, of FILE.part.from; empty when that is not there or makes no sense.
Origin read_origin(const std::filesystem::path& file);
void write_origin(const std::filesystem::path& file, const Origin& origin);

/// Removes the part.
void forget(const std::filesystem::path& file);

}  // namespace syrtos::data
