#pragma once

#include <cstdint>

#include "syrtos/ops/native/conv_wgrad.h"
#include "syrtos/ops/native/kernel_table.h"

// Internal to winograd: the kernels that winograd.isa.cc provides once per instruction set and
// that winograd.cc calls on the ranges of each thread. Plain data only, as in kernel_table.h.

namespace syrtos::ops::native {

constexpr int kWinogradOut = 4;      // a tile covers 4x4 outputs
constexpr int kWinogradIn = 6;       // and needs 6x6 inputs
constexpr int kWinogradPoints = 36;  // products per tile, input channel and output channel
constexpr int kWinogradBlock = 16;   // channels that lie together in a transformed image
constexpr int kWinogradPanel = 32;   // columns that lie together in transformed weights

/// Channels-last images and the grid of tiles laid over them: tile (n, y, x) begins at row
/// 4 y + top and column 4 x + left, which may be outside.
template <typename Float>
struct WinogradImages {
  Float* data;
  int h, w, c;
  int tiles_y, tiles_x;
  int top, left;
};

/// Transformed images: (point, tile, channel) at
/// data[point * stride_point + channel / 16 * stride_block + tile * 16 + channel % 16].
struct WinogradMatrix {
  float* data;
  int64_t stride_point;
  int64_t stride_block;
};

/// A panel of transformed weights: (point, row, column) at
/// data[point * stride_point + row * columns + column]; columns is 16 or 32.
struct WinogradPanel {
  float* data;
  int64_t stride_point;
  int columns;
};

/// Weights as a matrix of taps: rows are input channels and columns output channels, or, for the
/// data gradient, the other way round with the taps rotated by 180 degrees.
struct WinogradWeights {
  const float* data;
  const WgradLayout* layout;
  int in_c, out_c;
  bool transposed;
};

/// Memory to fetch into the second-level cache while a product computes: images are read and
/// written faster than memory delivers them, products leave it idle.
struct WinogradAhead {
  const float* begin;
  int64_t floats;
};

struct WinogradKernels {
  /// Channels [begin, end) of tiles [first, first + count) of the images become channels from 0 on
  /// of tiles [0, count) of the matrix; up to the next multiple of 16 they become zero. begin is a
  /// multiple of 16, end as well unless it is the images' last.
  void (*transform_src)(const WinogradImages<const float>& images, int64_t first, int64_t count,
                        int begin, int end, const WinogradMatrix& v);
  /// The same for gradients of outputs. Adds the sums over all pixels to sums[begin, end), rounded
  /// up alike, unless sums is null.
  void (*transform_diff_dst)(const WinogradImages<const float>& images, int64_t first,
                             int64_t count, int begin, int end, const WinogradMatrix& z,
                             float* sums);
  /// Rows [row, row + rows) of the columns from `column` on; both multiples of 16, zero beyond
  /// the weights' channels.
  void (*transform_weights)(const WinogradWeights& weights, int row, int rows, int column,
                            const WinogradPanel& u);
  /// m[point] (tiles x columns) = or += v[point] (tiles x 16 blocks) u[point], for all points.
  /// Fetches `ahead` meanwhile.
  void (*multiply)(const WinogradMatrix& v, int64_t tiles, int blocks, const WinogradPanel& u,
                   const WinogradMatrix& m, bool accumulate, const WinogradAhead& ahead);
  /// Tiles [0, count) of m become tiles [first, first + count) of the images' channels from
  /// `column` on. bias may be null.
  void (*transform_dst)(const WinogradMatrix& m, const WinogradImages<float>& images, int64_t first,
                        int64_t count, int column, int columns, const float* bias, bool relu);
  /// u[point] (16 blocks x columns) = or += v[point]^T z[point], for points [begin, end); the sums
  /// run over the tiles. Fetches `ahead` meanwhile.
  void (*multiply_transposed)(const WinogradMatrix& v, int blocks, const WinogradMatrix& z,
                              int64_t tiles, const WinogradPanel& u, bool accumulate, int begin,
                              int end, const WinogradAhead& ahead);
  /// Rows [row, row + rows) of diff_weights, columns from `column` on as far as they exist.
  void (*transform_diff_weights)(const WinogradPanel& u, const WgradLayout& layout, int row,
                                 int rows, int column, float* diff_weights);
};

SYRTOS_DECLARE_KERNELS(WinogradKernels, winograd_kernels)

}  // namespace syrtos::ops::native
