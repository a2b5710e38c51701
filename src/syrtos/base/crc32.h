#pragma once

#include <cstddef>
#include <cstdint>

namespace syrtos {

/// Goes on from `crc`, which is 0 to begin with, by CRC-32 (polynomial 0xEDB88320, as in zip).
uint32_t crc32(uint32_t crc, const void* data, size_t bytes);
/// Does the same by CRC-32C (Castagnoli's polynomial 0x82F63B78, as in iSCSI and in TensorBoard's
/// files), which zlib does not have.
uint32_t crc32c(uint32_t crc, const void* data, size_t bytes);

}  // namespace syrtos
