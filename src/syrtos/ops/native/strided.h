#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "syrtos/tensor/dtype.h"
#include "syrtos/tensor/shape.h"

// Operations that only move elements (concatenation, slices, padding) or that are too small to
// matter (general reductions): written once for any strides, in elements.

namespace syrtos::ops::native {

using Strides = std::array<int64_t, Shape::kMaxRank>;

/// Strides of a dense tensor: row-major, or channels-last for a shape [N, C, spatial...].
Strides dense_strides(const Shape& shape, bool channels_last);

/// dst[i] = src[i] for every index i of `shape`; element_size bytes each. No overlap.
void strided_copy(const Shape& shape, size_t element_size, const void* src,
                  const Strides& src_strides, void* dst, const Strides& dst_strides);

/// dst[i] = scale * the sum of src[i, j] over the axes of `shape` whose dst stride is 0; f32 or
/// bf16 with f32 sums. dst must hold as many elements as the other axes span.
void strided_reduce(const Shape& shape, DType dtype, const void* src, const Strides& src_strides,
                    void* dst, const Strides& dst_strides, float scale);

/// dst[i] = scale * src[i], where src has stride 0 along the axes that it is repeated over.
void strided_broadcast(const Shape& shape, DType dtype, const void* src, const Strides& src_strides,
                       void* dst, const Strides& dst_strides, float scale);

}  // namespace syrtos::ops::native
