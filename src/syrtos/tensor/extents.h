#pragma once

#include "syrtos/tensor/shape.h"

namespace syrtos {

/// What one value may have: far above what fits in memory, far below what overflows.
constexpr int64_t kMaxElements = int64_t{1} << 40;

/// Whether no extent is negative and elements() is at most kMaxElements; also where an extent of 0
/// makes it 0.
bool is_countable(const Shape& shape);

}  // namespace syrtos
