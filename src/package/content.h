#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace syrtos::package {

/// What a package carries behind its launcher: a tar archive, compressed by zstd with its checksum,
/// and a trailer that says where it begins. tools/package writes it.
struct Content {
  std::string hash;     ///< of the archive: what it is called in the cache
  uint64_t begin = 0;   ///< byte of the file
  uint64_t bytes = 0;   ///< compressed
  std::string problem;  ///< why there is none; empty: there is
};

Content find_content(int file, uint64_t file_bytes);

/// Unpacks into an existing, empty directory, and writes there, last of all, the file 'complete'
/// with the size and the name of each. Empty, or what went wrong.
std::string unpack(int file, const Content& content, const std::string& directory);

/// Whether 'complete' is there and every file has the size that it says.
bool is_complete(const std::string& directory);

}  // namespace syrtos::package
