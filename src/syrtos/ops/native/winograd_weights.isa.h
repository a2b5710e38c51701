#pragma once

#include "syrtos/ops/native/winograd_kernels.h"
#include "syrtos/ops/native/winograd_transform.isa.h"

// The transforms of winograd.isa.cc that touch weights, on vectors of the panel's columns. Forward
// the columns are output channels, which lie together in the layout. In the data gradient they
// are input channels: blocks of 16x16 are first transposed into a buffer.

namespace syrtos::ops::native::SYRTOS_ISA {
namespace {

// Nine taps of a vector of columns, and of the rows below it.
struct Taps {
  const float* data;
  int64_t stride_h;
  int64_t stride_w;
  int64_t stride_row;
};

constexpr int kBufferTap = kWinogradBlock * kWinogradBlock;

inline int64_t address(const WgradLayout& l, int64_t o, int64_t i, int h, int w) {
  return o / l.o_block * l.stride_o + h * l.stride_h + w * l.stride_w + i * l.stride_i +
         o % l.o_block;
}

#if defined(__AVX512F__)
// Masks of all lanes: GCC 12 warns of the undefined operand in the forms without a mask.
inline __m512 low_pairs(__m512 a, __m512 b) { return _mm512_maskz_unpacklo_ps(0xFFFF, a, b); }
inline __m512 high_pairs(__m512 a, __m512 b) { return _mm512_maskz_unpackhi_ps(0xFFFF, a, b); }
inline __m512 low_quads(__m512 a, __m512 b) {
  return _mm512_castpd_ps(_mm512_maskz_unpacklo_pd(0xFF, _mm512_castps_pd(a), _mm512_castps_pd(b)));
}
inline __m512 high_quads(__m512 a, __m512 b) {
  return _mm512_castpd_ps(_mm512_maskz_unpackhi_pd(0xFF, _mm512_castps_pd(a), _mm512_castps_pd(b)));
}
template <int Pick>
inline __m512 quarters(__m512 a, __m512 b) {
  return _mm512_maskz_shuffle_f32x4(0xFFFF, a, b, Pick);
}

// to[c][r] = from[r * stride + c] for 16x16: pairs of rows are interleaved, then pairs of pairs,
// then quarters of the vectors change places.
inline void transpose16(const float* from, int64_t stride, float* to) {
  __m512 a[16];
  __m512 b[16];
#pragma GCC unroll 16
  for (int r = 0; r < 16; ++r) a[r] = _mm512_loadu_ps(from + r * stride);
#pragma GCC unroll 8
  for (int r = 0; r < 16; r += 2) {
    b[r] = low_pairs(a[r], a[r + 1]);
    b[r + 1] = high_pairs(a[r], a[r + 1]);
  }
#pragma GCC unroll 4
  for (int r = 0; r < 16; r += 4) {
#pragma GCC unroll 2
    for (int half = 0; half < 2; ++half) {
      a[r + 2 * half] = low_quads(b[r + half], b[r + 2 + half]);
      a[r + 2 * half + 1] = high_quads(b[r + half], b[r + 2 + half]);
    }
  }
  // Now quarter q of a[4 g + j] holds column 4 q + j of rows 4 g to 4 g + 3.
  constexpr int kEven = 0x88;
  constexpr int kOdd = 0xDD;
#pragma GCC unroll 4
  for (int j = 0; j < 4; ++j) {
    const __m512 even_low = quarters<kEven>(a[j], a[4 + j]);
    const __m512 odd_low = quarters<kOdd>(a[j], a[4 + j]);
    const __m512 even_high = quarters<kEven>(a[8 + j], a[12 + j]);
    const __m512 odd_high = quarters<kOdd>(a[8 + j], a[12 + j]);
    _mm512_storeu_ps(to + j * 16, quarters<kEven>(even_low, even_high));
    _mm512_storeu_ps(to + (4 + j) * 16, quarters<kEven>(odd_low, odd_high));
    _mm512_storeu_ps(to + (8 + j) * 16, quarters<kOdd>(even_low, even_high));
    _mm512_storeu_ps(to + (12 + j) * 16, quarters<kOdd>(odd_low, odd_high));
  }
}
#else
inline void transpose16(const float* from, int64_t stride, float* to) {
  for (int r = 0; r < 16; ++r) {
    for (int c = 0; c < 16; ++c) to[c * 16 + r] = from[r * stride + c];
  }
}
#endif

// The taps of 16 rows x 16 columns, in place where the layout allows it, otherwise in the buffer
// [3][3][16 rows][16 columns].
Taps find_taps(const WinogradWeights& weights, int row, int column, float* buffer) {
  const WgradLayout& l = *weights.layout;
  const int o = weights.transposed ? row : column;
  const int i = weights.transposed ? column : row;
  const bool together = o % l.o_block + kWinogradBlock <= l.o_block &&
                        o + kWinogradBlock <= weights.out_c && i + kWinogradBlock <= weights.in_c;
  if (together && !weights.transposed) {
    return {weights.data + address(l, o, i, 0, 0), l.stride_h, l.stride_w, l.stride_i};
  }
  for (int h = 0; h < 3; ++h) {
    for (int w = 0; w < 3; ++w) {
      float* to = buffer + (h * 3 + w) * kBufferTap;
      const int from_h = weights.transposed ? 2 - h : h;
      const int from_w = weights.transposed ? 2 - w : w;
      if (together) {
        transpose16(weights.data + address(l, o, i, from_h, from_w), l.stride_i, to);
        continue;
      }
      for (int r = 0; r < kWinogradBlock; ++r) {
        for (int c = 0; c < kWinogradBlock; ++c) {
          const int at_o = weights.transposed ? row + r : column + c;
          const int at_i = weights.transposed ? column + c : row + r;
          const bool real = at_o < weights.out_c && at_i < weights.in_c;
          to[r * kWinogradBlock + c] =
              real ? weights.data[address(l, at_o, at_i, from_h, from_w)] : 0.0F;
        }
      }
    }
  }
  return {buffer, 3 * kBufferTap, kBufferTap, kWinogradBlock};
}

// U = G w G^T of one vector.
inline void transform_taps(const Taps& taps, const float* at, float* u, int64_t stride_point) {
  Vec half[3][6];  // [tap column][point]
#pragma GCC unroll 3
  for (int w = 0; w < 3; ++w) {
    const Vec column[3] = {load(at + w * taps.stride_w),
                           load(at + taps.stride_h + w * taps.stride_w),
                           load(at + 2 * taps.stride_h + w * taps.stride_w)};
    weights_points(column, half[w]);
  }
#pragma GCC unroll 6
  for (int p = 0; p < 6; ++p) {
    const Vec row[3] = {half[0][p], half[1][p], half[2][p]};
    Vec points[6];
    weights_points(row, points);
#pragma GCC unroll 6
    for (int q = 0; q < 6; ++q) store(u + (p * 6 + q) * stride_point, points[q]);
  }
}

void transform_weights(const WinogradWeights& weights, int row, int rows, int column,
                       const WinogradPanel& u) {
  alignas(64) float buffer[9 * kBufferTap];
  for (int r = 0; r < rows; r += kWinogradBlock) {
    for (int c = 0; c < u.columns; c += kWinogradBlock) {
      const Taps taps = find_taps(weights, row + r, column + c, buffer);
      for (int k = 0; k < kWinogradBlock; ++k) {
        for (int lane = 0; lane < kWinogradBlock; lane += kLanes) {
          transform_taps(taps, taps.data + k * taps.stride_row + lane,
                         u.data + int64_t{r + k} * u.columns + c + lane, u.stride_point);
        }
      }
    }
  }
}

// G^T U G of one vector: nine taps.
inline void inverse_taps(const float* u, int64_t stride_point, Vec (&taps)[3][3]) {
  Vec half[6][3];  // [point of the columns][tap row]
#pragma GCC unroll 6
  for (int q = 0; q < 6; ++q) {
    Vec points[6];
#pragma GCC unroll 6
    for (int p = 0; p < 6; ++p) points[p] = load(u + (p * 6 + q) * stride_point);
    points_diff_weights(points, half[q]);
  }
#pragma GCC unroll 3
  for (int h = 0; h < 3; ++h) {
    const Vec row[6] = {half[0][h], half[1][h], half[2][h], half[3][h], half[4][h], half[5][h]};
    points_diff_weights(row, taps[h]);
  }
}

void transform_diff_weights(const WinogradPanel& u, const WgradLayout& layout, int row, int rows,
                            int column, float* diff_weights) {
  for (int lane = 0; lane < u.columns; lane += kLanes) {
    const int64_t o = column + lane;
    const bool together = o % layout.o_block + kLanes <= layout.o_block;
    for (int r = 0; r < rows; ++r) {
      Vec taps[3][3];
      inverse_taps(u.data + int64_t{r} * u.columns + lane, u.stride_point, taps);
      for (int h = 0; h < 3; ++h) {
        for (int w = 0; w < 3; ++w) {
          if (together && o + kLanes <= layout.padded_o) {
            store(diff_weights + address(layout, o, row + r, h, w), taps[h][w]);
            continue;
          }
          for (int k = 0; k < kLanes && o + k < layout.padded_o; ++k) {
            diff_weights[address(layout, o + k, row + r, h, w)] = taps[h][w][k];
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace syrtos::ops::native::SYRTOS_ISA
