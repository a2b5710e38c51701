#pragma once

#include <cstddef>
#include <cstdint>

namespace syrtos {

/// CRC-32 (polynomial 0xEDB88320, as in zip), continued from `crc`; 0 to begin with.
uint32_t crc32(uint32_t crc, const void* data, size_t bytes);
/// CRC-32C (Castagnoli's polynomial 0x82F63B78, as in iSCSI and TensorBoard's files), likewise.
uint32_t crc32c(uint32_t crc, const void* data, size_t bytes);

}  // namespace syrtos
