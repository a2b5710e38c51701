#pragma once

#include <cstdint>

namespace syrtos {

/// Bytes that this process can still get without swapping.
int64_t free_memory();

}  // namespace syrtos
