#pragma once

#include <cstddef>
#include <cstdint>

namespace syrtos {

/// CRC-32 (polynomial 0xEDB88320, as in zip), continued from `crc`; 0 to begin with.
uint32_t crc32(uint32_t crc, const void* data, size_t bytes);

}  // namespace syrtos
