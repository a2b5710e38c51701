#pragma once

#include <algorithm>
#include <cstdint>

#include "syrtos/base/parallel.h"
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

/// Calls body(share) for each of the shares a plan was made for, also where fewer threads run than
/// the plan counted on.
template <typename Body>
void for_each_share(int shares, Body&& body) {
  parallel([&](int thread, int threads) {
    for (int share = thread; share < shares; share += threads) body(share);
  });
}

/// Columns of a panel: 32, or 16 when that is enough for the last one.
inline int columns_of(int channels, int panel) {
  return channels - panel * kWinogradPanel > kWinogradBlock ? kWinogradPanel : kWinogradBlock;
}

/// The rows of the images that some tiles begin in.
template <typename Float>
WinogradAhead rows_of(const WinogradImages<Float>& images, Range tiles) {
  const auto row = [&](int64_t tile) {
    const int64_t line = tile / images.tiles_x;
    const int64_t y = line % images.tiles_y * kWinogradOut;
    return line / images.tiles_y * images.h + std::min<int64_t>(y, images.h);
  };
  const int64_t first = row(tiles.begin);
  const int64_t last = row(tiles.end - 1 + images.tiles_x);
  const int64_t line = int64_t{images.w} * images.c;
  return {images.data + first * line, (last - first) * line};
}

const WinogradKernels& winograd_kernels_for(Isa isa);

}  // namespace syrtos::ops::native
