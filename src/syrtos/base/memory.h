#pragma once

#include <cstddef>
#include <cstdint>

namespace syrtos {

/// Elements: parameters begin on cache lines, those of their bf16 copies too, so that threads that
/// share a sweep never share a line and tiles never straddle two. What is planned lies the same
/// way.
inline constexpr size_t kParameterLine = 32;

/// Bytes that this process can still get without swapping.
int64_t free_memory();

}  // namespace syrtos
