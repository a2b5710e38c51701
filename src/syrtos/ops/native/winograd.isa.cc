// Winograd convolution F(4x4, 3x3), compiled once per instruction set.
//
// Idea. Four outputs of a 3-tap filter over six inputs are a product of two polynomials; evaluated
// at six points it costs 6 multiplications instead of 12. Nested for rows and columns, a tile of
// 4x4 outputs costs 36 instead of 144. With d the tile's 6x6 inputs, w a 3x3 kernel, dy the
// gradient of the 4x4 outputs (matrices A, B, G as in winograd_transform.isa.h):
//   forward           y  = A^T [ sum over in_c (G w G^T) * (B^T d B) ] A
//   data gradient     the same over diff_dst with the kernels transposed and rotated
//   weight gradient   dw = G^T [ sum over tiles (B^T d B) * (A dy A^T) ] G
// where * multiplies point by point. For each of the 36 points the sum is a matrix product, and
// all arithmetic that counts is there; the transforms are additions on vectors of channels.
//
// Steps of the forward product, for a block of tiles: V = B^T d B, M = V U for each point and
// panel of 32 columns, y from M; U = G w G^T. winograd.cc and winograd_wgrad.cc decide how tiles
// and panels are shared out.
//
// Bytes. Each tile reads 36 pixels and writes 36 in V (2.25 times the image; borders of tiles
// overlap), M likewise; both stay in a core's second-level cache. U is four times the weights.
//
// Error. Points and sums are rounded like any f32, but the transforms amplify: against a double
// reference the largest error is 1e-6 to 4e-6 of the largest result, about ten times that of direct
// convolution (tests/ops_native/winograd_test.cc states the bound).

#include "syrtos/ops/native/winograd_gemm.isa.h"
#include "syrtos/ops/native/winograd_kernels.h"
#include "syrtos/ops/native/winograd_transform.isa.h"
#include "syrtos/ops/native/winograd_weights.isa.h"

namespace syrtos::ops::native::SYRTOS_ISA {
namespace {

// The part of a Size x Size tile that lies inside its image: element offsets of rows and columns
// (clamped, so that every address is valid) and whether they are real.
template <int Size>
struct Window {
  int64_t row_at[Size];
  int64_t column_at[Size];
  bool row_in[Size];
  bool column_in[Size];
  bool whole = true;

  template <typename Float>
  Window(const WinogradImages<Float>& images, int64_t tile) {
    const int64_t line = tile / images.tiles_x;
    const int y = static_cast<int>(line % images.tiles_y) * kWinogradOut + images.top;
    const int x = static_cast<int>(tile % images.tiles_x) * kWinogradOut + images.left;
    const int64_t first_row = line / images.tiles_y * images.h;
    for (int k = 0; k < Size; ++k) {
      row_in[k] = y + k >= 0 && y + k < images.h;
      column_in[k] = x + k >= 0 && x + k < images.w;
      whole = whole && row_in[k] && column_in[k];
      row_at[k] = (first_row + (row_in[k] ? y + k : 0)) * images.w * images.c;
      column_at[k] = (column_in[k] ? int64_t{x + k} : 0) * images.c;
    }
  }
};

// The tile's vectors of one column: `count` channels from data on, zero outside the image.
template <bool Whole, int Size>
inline void load_column(const Window<Size>& window, const float* data, int column, int count,
                        Vec (&out)[Size]) {
  const int real = Whole || window.column_in[column] ? count : 0;
#pragma GCC unroll 6
  for (int r = 0; r < Size; ++r) {
    const float* at = data + window.row_at[r] + window.column_at[column];
    out[r] = Whole ? load(at) : load_part(at, window.row_in[r] ? real : 0);
  }
}

template <bool Whole>
inline void src_vector(const Window<kWinogradIn>& window, const float* data, int count, float* v,
                       int64_t stride_point) {
  Vec half[6][6];  // [column][point of the rows]
#pragma GCC unroll 6
  for (int c = 0; c < 6; ++c) {
    Vec column[6];
    load_column<Whole>(window, data, c, count, column);
    src_points(column, half[c]);
  }
#pragma GCC unroll 6
  for (int p = 0; p < 6; ++p) {
    const Vec row[6] = {half[0][p], half[1][p], half[2][p], half[3][p], half[4][p], half[5][p]};
    Vec points[6];
    src_points(row, points);
#pragma GCC unroll 6
    for (int q = 0; q < 6; ++q) store(v + (p * 6 + q) * stride_point, points[q]);
  }
}

void transform_src(const WinogradImages<const float>& images, int64_t first, int64_t count,
                   int begin, int end, const WinogradMatrix& v) {
  for (int64_t tile = 0; tile < count; ++tile) {
    const Window<kWinogradIn> window(images, first + tile);
    float* to = v.data + tile * kWinogradBlock;
    for (int c = begin; c < end; c += kWinogradBlock, to += v.stride_block) {
      const bool whole = window.whole && c + kWinogradBlock <= images.c;
      for (int lane = 0; lane < kWinogradBlock; lane += kLanes) {
        if (whole) {
          src_vector<true>(window, images.data + c + lane, kLanes, to + lane, v.stride_point);
        } else {
          src_vector<false>(window, images.data + c + lane, images.c - c - lane, to + lane,
                            v.stride_point);
        }
      }
    }
  }
}

template <bool Whole>
inline Vec diff_dst_vector(const Window<kWinogradOut>& window, const float* data, int count,
                           float* z, int64_t stride_point) {
  Vec half[4][6];
  Vec sum{};
#pragma GCC unroll 4
  for (int c = 0; c < 4; ++c) {
    Vec column[4];
    load_column<Whole>(window, data, c, count, column);
    sum += (column[0] + column[1]) + (column[2] + column[3]);
    diff_dst_points(column, half[c]);
  }
#pragma GCC unroll 6
  for (int p = 0; p < 6; ++p) {
    const Vec row[4] = {half[0][p], half[1][p], half[2][p], half[3][p]};
    Vec points[6];
    diff_dst_points(row, points);
#pragma GCC unroll 6
    for (int q = 0; q < 6; ++q) store(z + (p * 6 + q) * stride_point, points[q]);
  }
  return sum;
}

void transform_diff_dst(const WinogradImages<const float>& images, int64_t first, int64_t count,
                        int begin, int end, const WinogradMatrix& z, float* sums) {
  for (int64_t tile = 0; tile < count; ++tile) {
    const Window<kWinogradOut> window(images, first + tile);
    float* to = z.data + tile * kWinogradBlock;
    for (int c = begin; c < end; c += kWinogradBlock, to += z.stride_block) {
      const bool whole = window.whole && c + kWinogradBlock <= images.c;
      for (int lane = 0; lane < kWinogradBlock; lane += kLanes) {
        const float* data = images.data + c + lane;
        const Vec sum = whole
                            ? diff_dst_vector<true>(window, data, kLanes, to + lane, z.stride_point)
                            : diff_dst_vector<false>(window, data, images.c - c - lane, to + lane,
                                                     z.stride_point);
        if (sums != nullptr) store(sums + c + lane, load(sums + c + lane) + sum);
      }
    }
  }
}

// y = A^T M A of one vector.
inline void dst_vector(const float* m, int64_t stride_point, Vec bias, bool relu, Vec (&y)[4][4]) {
  Vec half[6][4];  // [point of the columns][output row]
#pragma GCC unroll 6
  for (int q = 0; q < 6; ++q) {
    Vec points[6];
#pragma GCC unroll 6
    for (int p = 0; p < 6; ++p) points[p] = load(m + (p * 6 + q) * stride_point);
    points_dst(points, half[q]);
  }
#pragma GCC unroll 4
  for (int r = 0; r < 4; ++r) {
    const Vec row[6] = {half[0][r], half[1][r], half[2][r], half[3][r], half[4][r], half[5][r]};
    points_dst(row, y[r]);
#pragma GCC unroll 4
    for (int c = 0; c < 4; ++c) {
      y[r][c] += bias;
      if (relu) y[r][c] = y[r][c] > 0 ? y[r][c] : Vec{};
    }
  }
}

void transform_dst(const WinogradMatrix& m, const WinogradImages<float>& images, int64_t first,
                   int64_t count, int column, int columns, const float* bias, bool relu) {
  for (int64_t tile = 0; tile < count; ++tile) {
    const Window<kWinogradOut> window(images, first + tile);
    for (int lane = 0; lane < columns; lane += kLanes) {
      const int c = column + lane;
      if (c >= images.c) break;
      const float* from = m.data + lane / kWinogradBlock * m.stride_block + tile * kWinogradBlock +
                          lane % kWinogradBlock;
      const Vec own_bias = bias != nullptr ? load_part(bias + c, images.c - c) : Vec{};
      Vec y[4][4];
      dst_vector(from, m.stride_point, own_bias, relu, y);
      const bool whole = window.whole && c + kLanes <= images.c;
#pragma GCC unroll 4
      for (int r = 0; r < 4; ++r) {
#pragma GCC unroll 4
        for (int k = 0; k < 4; ++k) {
          float* at = images.data + window.row_at[r] + window.column_at[k] + c;
          if (whole) {
            store(at, y[r][k]);
          } else if (window.row_in[r] && window.column_in[k]) {
            store_part(at, y[r][k], images.c - c);
          }
        }
      }
    }
  }
}

}  // namespace

const WinogradKernels winograd_kernels = {
    .transform_src = transform_src,
    .transform_diff_dst = transform_diff_dst,
    .transform_weights = transform_weights,
    .multiply = multiply,
    .transform_dst = transform_dst,
    .multiply_transposed = multiply_transposed,
    .transform_diff_weights = transform_diff_weights,
};

}  // namespace syrtos::ops::native::SYRTOS_ISA
