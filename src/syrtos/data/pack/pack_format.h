#pragma once

#include <bit>
#include <cstdint>

namespace syrtos::data {

// The fixed parts of a pack; pack.h has the whole layout.

static_assert(std::endian::native == std::endian::little, "files are little-endian");

inline constexpr char kPackMagic[8] = {'S', 'Y', 'R', 'T', 'O', 'S', 'P', 'K'};
inline constexpr uint32_t kPackVersion = 1;        // of labels
inline constexpr uint32_t kPackValuesVersion = 2;  // of values instead
inline constexpr uint64_t kPackAlignment = 64;
inline constexpr uint64_t kPackBlockBytes = uint64_t{1} << 20;
inline constexpr uint64_t kPackMaxMeta = uint64_t{64} << 20;

struct PackPrefix {
  char magic[8];
  uint32_t version;
  char zeros[52];
};
static_assert(sizeof(PackPrefix) == 64);

struct PackTrailer {
  uint64_t directory;
  uint64_t samples;
  uint64_t blocks;
  uint64_t meta_bytes;
  uint32_t payload;
  uint32_t directory_crc;
  uint32_t values;
  char zeros[8];
  uint32_t crc;
  char magic[8];
};
static_assert(sizeof(PackTrailer) == 64);
inline constexpr uint64_t kPackTrailerCrc = 52;

}  // namespace syrtos::data
