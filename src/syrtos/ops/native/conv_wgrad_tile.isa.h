#pragma once

#include <cstdint>

#if defined(__SSE2__)
#include <immintrin.h>
#endif

#include "syrtos/ops/native/conv_wgrad_plan.h"

// The register tile of conv_wgrad.isa.cc, the only file that includes this one: M input channels
// times N vectors of output channels stay in registers while k runs over the pixels of one tap.
// Per k: N loads of diff_dst, M broadcasts of src, M x N multiply-adds; with 14 x 2 tiles that is
// 28 arithmetic instructions on 16 loads, and 28 independent sums hide the latency.

namespace syrtos::ops::native::SYRTOS_ISA {
namespace {

#if defined(__AVX512F__)
constexpr int kLanes = 16;
constexpr int kMaxRows = 14;
#elif defined(__AVX2__)
constexpr int kLanes = 8;
constexpr int kMaxRows = 6;
#else
constexpr int kLanes = 4;
constexpr int kMaxRows = 4;
#endif
#if defined(__AVX512BF16__)
constexpr bool kHasPairs = true;
#else
constexpr bool kHasPairs = false;
#endif

using Vec __attribute__((vector_size(4 * kLanes))) = float;

inline Vec load(const float* at) {
  Vec v;
  __builtin_memcpy(&v, at, sizeof v);
  return v;
}

// The same 32 bits in every lane; they may be a pair of bf16, so no arithmetic touches them.
inline Vec broadcast(const float* at) {
#if defined(__AVX512F__)
  return reinterpret_cast<Vec>(_mm512_set1_ps(*at));
#elif defined(__AVX2__)
  return reinterpret_cast<Vec>(_mm256_set1_ps(*at));
#else
  return Vec{*at, *at, *at, *at};
#endif
}

// One step of k: f32 products, or sums of two bf16 products.
template <bool kPairs>
inline Vec multiply_add(Vec sum, Vec x, Vec y) {
#if defined(__AVX512BF16__)
  if constexpr (kPairs) {
    return reinterpret_cast<Vec>(_mm512_dpbf16_ps(reinterpret_cast<__m512>(sum),
                                                  reinterpret_cast<__m512bh>(x),
                                                  reinterpret_cast<__m512bh>(y)));
  }
#endif
  return sum + x * y;
}

// One tap's contribution of one block to one tile. k runs over `lines` lines of `run` words of k.
struct TileJob {
  const float* x;  // panel of src at the tap's first pixel
  const float* y;
  int lines;
  int run;
  int64_t x_line;  // words from line to line
  int64_t y_line;
  float* out;          // diff_weights or a partial of it, at the tap
  int64_t row_at[16];  // where each row and each vector of columns lies
  int64_t column_at[2];
  int o_begin;  // first column, for layouts that break up vectors
  const WgradLayout* layout;
  bool accumulate;  // add to what an earlier block left
  bool whole;       // each vector of columns is contiguous, i_pack aside
  bool stream;
};

// Layouts whose blocks are no multiple of the vector, and tails of plain ones: element by element.
// Calls visit(address, value) for the columns that exist.
template <typename Visit>
void each_element(const TileJob& job, int rows, int columns, float* tile, const Visit& visit) {
  const WgradLayout& l = *job.layout;
  for (int c = 0; c < columns; ++c) {
    const int64_t o = job.o_begin + c;
    if (o >= l.padded_o) return;
    const int64_t at = o / l.o_block * l.stride_o + o % l.o_block * l.i_pack;
    for (int r = 0; r < rows; ++r) visit(job.out[job.row_at[r] + at], tile[r * columns + c]);
  }
}

#if defined(__AVX512F__)
inline void put(float* at, __m512 v, bool stream) {
  if (stream) {
    _mm512_stream_ps(at, v);
  } else {
    _mm512_storeu_ps(at, v);
  }
}

// i_pack = 2: the rows of channels i and i + 1 alternate in memory.
inline __m512i interleave_index(int from) {
  const __m512i lane = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
  const __m512i half = _mm512_add_epi32(_mm512_srli_epi32(lane, 1), _mm512_set1_epi32(from));
  return _mm512_mask_add_epi32(half, 0xAAAA, half, _mm512_set1_epi32(16));
}

inline __m512i deinterleave_index(int from) {
  const __m512i lane = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
  return _mm512_add_epi32(_mm512_slli_epi32(lane, 1), _mm512_set1_epi32(from));
}
#endif

template <int M, int N>
inline void load_tile(const TileJob& job, Vec (&acc)[M][N]) {
#if defined(__AVX512F__)
  if (job.whole && job.layout->i_pack == 1) {
#pragma GCC unroll 16
    for (int r = 0; r < M; ++r) {
#pragma GCC unroll 2
      for (int c = 0; c < N; ++c) acc[r][c] = load(job.out + job.row_at[r] + job.column_at[c]);
    }
    return;
  }
  if constexpr (M % 2 == 0) {
    if (job.whole) {
      const __m512i even = deinterleave_index(0);
      const __m512i odd = deinterleave_index(1);
#pragma GCC unroll 8
      for (int r = 0; r < M; r += 2) {
#pragma GCC unroll 2
        for (int c = 0; c < N; ++c) {
          const float* at = job.out + job.row_at[r] + job.column_at[c];
          const __m512 low = _mm512_loadu_ps(at);
          const __m512 high = _mm512_loadu_ps(at + 16);
          acc[r][c] = reinterpret_cast<Vec>(_mm512_permutex2var_ps(low, even, high));
          acc[r + 1][c] = reinterpret_cast<Vec>(_mm512_permutex2var_ps(low, odd, high));
        }
      }
      return;
    }
  }
#endif
  float tile[M * N * kLanes] = {};
  each_element(job, M, N * kLanes, tile, [](float& stored, float& own) { own = stored; });
#pragma GCC unroll 16
  for (int r = 0; r < M; ++r) {
#pragma GCC unroll 2
    for (int c = 0; c < N; ++c) acc[r][c] = load(tile + (r * N + c) * kLanes);
  }
}

template <int M, int N>
inline void store_tile(const TileJob& job, const Vec (&acc)[M][N]) {
#if defined(__AVX512F__)
  if (job.whole && job.layout->i_pack == 1) {
#pragma GCC unroll 16
    for (int r = 0; r < M; ++r) {
#pragma GCC unroll 2
      for (int c = 0; c < N; ++c) {
        put(job.out + job.row_at[r] + job.column_at[c], reinterpret_cast<__m512>(acc[r][c]),
            job.stream);
      }
    }
    return;
  }
  if constexpr (M % 2 == 0) {
    if (job.whole) {
      const __m512i first = interleave_index(0);
      const __m512i second = interleave_index(8);
#pragma GCC unroll 8
      for (int r = 0; r < M; r += 2) {
#pragma GCC unroll 2
        for (int c = 0; c < N; ++c) {
          float* at = job.out + job.row_at[r] + job.column_at[c];
          const __m512 a = reinterpret_cast<__m512>(acc[r][c]);
          const __m512 b = reinterpret_cast<__m512>(acc[r + 1][c]);
          put(at, _mm512_permutex2var_ps(a, first, b), job.stream);
          put(at + 16, _mm512_permutex2var_ps(a, second, b), job.stream);
        }
      }
      return;
    }
  }
#endif
  float tile[M * N * kLanes];
#pragma GCC unroll 16
  for (int r = 0; r < M; ++r) {
#pragma GCC unroll 2
    for (int c = 0; c < N; ++c) {
      __builtin_memcpy(tile + (r * N + c) * kLanes, &acc[r][c], sizeof(Vec));
    }
  }
  each_element(job, M, N * kLanes, tile, [](float& stored, float& own) { stored = own; });
}

template <int M, int N, bool kPairs>
void tile(const TileJob& job, int x_width) {
  Vec acc[M][N];
  if (job.accumulate) {
    load_tile<M, N>(job, acc);
  } else {
#pragma GCC unroll 16
    for (int r = 0; r < M; ++r) {
#pragma GCC unroll 2
      for (int c = 0; c < N; ++c) acc[r][c] = Vec{};
    }
  }
  for (int line = 0; line < job.lines; ++line) {
    const float* x = job.x + line * job.x_line;
    const float* y = job.y + line * job.y_line;
    for (int k = 0; k < job.run; ++k, x += x_width, y += N * kLanes) {
      Vec column[N];
#pragma GCC unroll 2
      for (int c = 0; c < N; ++c) column[c] = load(y + c * kLanes);
#pragma GCC unroll 16
      for (int r = 0; r < M; ++r) {
        const Vec row = broadcast(x + r);
#pragma GCC unroll 2
        for (int c = 0; c < N; ++c) {
          acc[r][c] = multiply_add<kPairs>(acc[r][c], row, column[c]);
        }
      }
    }
  }
  store_tile<M, N>(job, acc);
}

using TileFunction = void (*)(const TileJob&, int);

// The tile for `rows` x `vectors`, by a search over the template's arguments.
template <bool kPairs, int M = kMaxRows>
TileFunction tile_function(int rows, int vectors) {
  if constexpr (M > 0) {
    if (rows == M) return vectors == 1 ? tile<M, 1, kPairs> : tile<M, 2, kPairs>;
    return tile_function<kPairs, M - 1>(rows, vectors);
  } else {
    return nullptr;
  }
}

}  // namespace
}  // namespace syrtos::ops::native::SYRTOS_ISA
