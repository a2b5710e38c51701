#pragma once

#include "syrtos/ops/native/winograd_kernels.h"
#include "syrtos/ops/native/winograd_transform.isa.h"

// The matrix products of winograd.isa.cc, the only file that includes this one. Both keep a tile
// of sums in registers and read memory in order:
//   product             14 tiles x 32 columns; per input channel 2 loads and 14 broadcasts for 28
//                       multiply-adds. The 16 channels of a block lie together for each tile, so
//                       the broadcasts stand at constant offsets and read whole cache lines.
//   product_transposed  8 input channels x 32 output channels; per tile 2 loads and 8 broadcasts
//                       for 16 multiply-adds.

namespace syrtos::ops::native::SYRTOS_ISA {
namespace {

#if defined(__AVX512F__)
constexpr int kRows = 14;
constexpr int kTransposedRows = 8;
#elif defined(__AVX2__)
constexpr int kRows = 3;
constexpr int kTransposedRows = 2;
#else
constexpr int kRows = 1;
constexpr int kTransposedRows = 1;
#endif
constexpr int kPerBlock = kWinogradBlock / kLanes;  // vectors

struct ProductJob {
  const float* v;
  int64_t v_block;
  int blocks;
  const float* u;
  float* m;
  int64_t m_block;
  bool accumulate;
};

// R tiles x N blocks of columns.
template <int R, int N>
void product(const ProductJob& job) {
  constexpr int kColumns = N * kPerBlock;
  Vec acc[R][kColumns];
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 8
    for (int c = 0; c < kColumns; ++c) {
      const float* at =
          job.m + c / kPerBlock * job.m_block + r * kWinogradBlock + c % kPerBlock * kLanes;
      acc[r][c] = job.accumulate ? load(at) : Vec{};
    }
  }
  const float* u = job.u;
  for (int block = 0; block < job.blocks; ++block) {
    const float* v = job.v + block * job.v_block;
    for (int i = 0; i < kWinogradBlock; ++i, ++v, u += N * kWinogradBlock) {
      Vec column[kColumns];
#pragma GCC unroll 8
      for (int c = 0; c < kColumns; ++c) column[c] = load(u + c * kLanes);
#pragma GCC unroll 16
      for (int r = 0; r < R; ++r) {
        const Vec row = splat(v[r * kWinogradBlock]);
#pragma GCC unroll 8
        for (int c = 0; c < kColumns; ++c) acc[r][c] += row * column[c];
      }
    }
  }
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 8
    for (int c = 0; c < kColumns; ++c) {
      store(job.m + c / kPerBlock * job.m_block + r * kWinogradBlock + c % kPerBlock * kLanes,
            acc[r][c]);
    }
  }
}

using ProductFunction = void (*)(const ProductJob&);

// The product of `rows` tiles and `columns` columns, by a search over the template's arguments.
template <int R = kRows>
ProductFunction product_function(int64_t rows, int columns) {
  if constexpr (R > 0) {
    if (rows == R) return columns == kWinogradBlock ? product<R, 1> : product<R, 2>;
    return product_function<R - 1>(rows, columns);
  } else {
    return nullptr;
  }
}

// kTransposedRows channels of a block of v, from v's first on, x N blocks of z.
template <int N>
void product_transposed(const float* v, const float* z, int64_t z_block, int64_t tiles, float* u,
                        bool accumulate) {
  constexpr int kColumns = N * kPerBlock;
  Vec acc[kTransposedRows][kColumns];
#pragma GCC unroll 8
  for (int r = 0; r < kTransposedRows; ++r) {
#pragma GCC unroll 8
    for (int c = 0; c < kColumns; ++c) {
      acc[r][c] = accumulate ? load(u + r * N * kWinogradBlock + c * kLanes) : Vec{};
    }
  }
  for (int64_t t = 0; t < tiles; ++t, v += kWinogradBlock, z += kWinogradBlock) {
    Vec column[kColumns];
#pragma GCC unroll 8
    for (int c = 0; c < kColumns; ++c) {
      column[c] = load(z + c / kPerBlock * z_block + c % kPerBlock * kLanes);
    }
#pragma GCC unroll 8
    for (int r = 0; r < kTransposedRows; ++r) {
      const Vec row = splat(v[r]);
#pragma GCC unroll 8
      for (int c = 0; c < kColumns; ++c) acc[r][c] += row * column[c];
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < kTransposedRows; ++r) {
#pragma GCC unroll 8
    for (int c = 0; c < kColumns; ++c) {
      store(u + r * N * kWinogradBlock + c * kLanes, acc[r][c]);
    }
  }
}

// The part of `ahead` that belongs to the i-th of n steps.
inline void fetch(const WinogradAhead& ahead, int i, int n) {
  const int64_t lines = (ahead.floats + 15) / 16;
  for (int64_t line = lines * i / n; line < lines * (i + 1) / n; ++line) {
    __builtin_prefetch(ahead.begin + line * 16, 0, 2);
  }
}

void multiply(const WinogradMatrix& v, int64_t tiles, int blocks, const WinogradPanel& u,
              const WinogradMatrix& m, bool accumulate, const WinogradAhead& ahead) {
  // Parts of nearly equal height: 15 tiles are 8 + 7, not 14 + 1.
  const int64_t parts = (tiles + kRows - 1) / kRows;
  for (int point = 0; point < kWinogradPoints; ++point) {
    fetch(ahead, point, kWinogradPoints);
    for (int64_t part = 0; part < parts; ++part) {
      const int64_t first = tiles * part / parts;
      const int64_t last = tiles * (part + 1) / parts;
      const ProductJob job{v.data + point * v.stride_point + first * kWinogradBlock,
                           v.stride_block,
                           blocks,
                           u.data + point * u.stride_point,
                           m.data + point * m.stride_point + first * kWinogradBlock,
                           m.stride_block,
                           accumulate};
      product_function(last - first, u.columns)(job);
    }
  }
}

void multiply_transposed(const WinogradMatrix& v, int blocks, const WinogradMatrix& z,
                         int64_t tiles, const WinogradPanel& u, bool accumulate, int begin, int end,
                         const WinogradAhead& ahead) {
  const auto function = u.columns == kWinogradBlock ? product_transposed<1> : product_transposed<2>;
  for (int point = begin; point < end; ++point) {
    fetch(ahead, point - begin, end - begin);
    const float* z_point = z.data + point * z.stride_point;
    float* u_point = u.data + point * u.stride_point;
    for (int block = 0; block < blocks; ++block) {
      const float* v_block = v.data + point * v.stride_point + block * v.stride_block;
      for (int r = 0; r < kWinogradBlock; r += kTransposedRows) {
        function(v_block + r, z_point, z.stride_block, tiles,
                 u_point + int64_t{block * kWinogradBlock + r} * u.columns, accumulate);
      }
    }
  }
}

}  // namespace
}  // namespace syrtos::ops::native::SYRTOS_ISA
