#include "syrtos/base/crc32.h"

#include <array>
#include <cstring>

namespace syrtos {

namespace {

using Tables = std::array<std::array<uint32_t, 256>, 8>;

// Table k advances a byte that stands k bytes before the end of the group: eight at a time.
constexpr Tables tables_of(uint32_t polynomial) {
  Tables tables{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? polynomial : 0);
    tables[0][i] = crc;
  }
  for (size_t k = 1; k < 8; ++k) {
    for (size_t i = 0; i < 256; ++i) {
      const uint32_t crc = tables[k - 1][i];
      tables[k][i] = (crc >> 8) ^ tables[0][crc & 0xff];
    }
  }
  return tables;
}

constexpr Tables kZip = tables_of(0xEDB88320U);
constexpr Tables kCastagnoli = tables_of(0x82F63B78U);

uint32_t advance(const Tables& tables, uint32_t crc, const void* data, size_t bytes) {
  const auto* at = static_cast<const unsigned char*>(data);
  crc = ~crc;
  for (; bytes >= 8; bytes -= 8, at += 8) {
    uint32_t low = 0;
    uint32_t high = 0;
    std::memcpy(&low, at, 4);  // little-endian, as the files
    std::memcpy(&high, at + 4, 4);
    low ^= crc;
    crc = tables[7][low & 0xff] ^ tables[6][low >> 8 & 0xff] ^ tables[5][low >> 16 & 0xff] ^
          tables[4][low >> 24] ^ tables[3][high & 0xff] ^ tables[2][high >> 8 & 0xff] ^
          tables[1][high >> 16 & 0xff] ^ tables[0][high >> 24];
  }
  for (; bytes > 0; --bytes, ++at) crc = (crc >> 8) ^ tables[0][(crc ^ *at) & 0xff];
  return ~crc;
}

}  // namespace

uint32_t crc32(uint32_t crc, const void* data, size_t bytes) {
  return advance(kZip, crc, data, bytes);
}

uint32_t crc32c(uint32_t crc, const void* data, size_t bytes) {
  return advance(kCastagnoli, crc, data, bytes);
}

}  // namespace syrtos
