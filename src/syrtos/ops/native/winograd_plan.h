#pragma once

#include <cstdint>

#include "syrtos/ops/native/dispatch.h"
#include "syrtos/ops/native/winograd.h"
#include "syrtos/ops/native/winograd_kernels.h"

// What the shape-only halves of winograd share; not for the files compiled per instruction set.

namespace syrtos::ops::native {

inline int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

/// Floats rounded up to an odd number of cache lines: 36 points at such a stride fall into 36
/// different sets of the first-level cache.
inline int64_t odd_lines(int64_t floats) { return (ceil_div(floats, 16) | 1) * 16; }

inline int winograd_tiles_along(int size) { return static_cast<int>(ceil_div(size, kWinogradOut)); }
inline int64_t winograd_tiles(int batch, int h, int w) {
  return int64_t{batch} * winograd_tiles_along(h) * winograd_tiles_along(w);
}

const WinogradKernels& winograd_kernels_for(Isa isa);

}  // namespace syrtos::ops::native
