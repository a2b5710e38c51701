#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "syrtos/tensor/shape.h"

// Operations that only move elements (concatenation, slices, padding): written once for any
// strides, in elements.

namespace syrtos::ops::native {

using Strides = std::array<int64_t, Shape::kMaxRank>;

/// Strides of a dense tensor: row-major, or channels-last for a shape [N, C, spatial...].
Strides dense_strides(const Shape& shape, bool channels_last);

/// dst[i] = src[i] for every index i of `shape`; element_size is 1, 2 or 4 bytes. No overlap.
void strided_copy(const Shape& shape, size_t element_size, const void* src,
                  const Strides& src_strides, void* dst, const Strides& dst_strides);

}  // namespace syrtos::ops::native
