#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

namespace syrtos::data {

/// The contents of an IDX file of bytes (the format of MNIST): big-endian magic 0x0000 08 rank,
/// one 32-bit extent per axis, then the values.
struct IdxBytes {
  std::vector<int64_t> extents;
  std::vector<uint8_t> values;
};

/// Reads a plain or gzip-compressed file that must have `rank` axes. Throws RequestError that says
/// the file, the offset, what was expected and what was found. Memory is taken as the file delivers
/// bytes, so a false header cannot ask for more than there is.
IdxBytes read_idx(const std::filesystem::path& file, int rank);

}  // namespace syrtos::data
