#include <immintrin.h>

#include "syrtos/ops/native/amx/kernels.h"
#include "syrtos/ops/native/amx/words.h"

// Products of tiles. Tiles 0 to 3 hold sums, 4 and 5 of A, 6 and 7 of B. With two tiles of rows and
// two of columns every tile that is loaded is used twice, and what a core's second cache delivers
// keeps the unit nearly busy: measured 2,170 GFLOP/s, 2,870 out of the first cache.

namespace syrtos::ops::native::amx {
namespace {

struct alignas(64) TileConfig {
  uint8_t palette = 1;
  uint8_t start_row = 0;
  uint8_t reserved[14] = {};
  uint16_t row_bytes[16] = {};
  uint8_t rows[16] = {};
};

/// Rows of A and of the sums beside it; tiles of B are always whole.
void configure(TileState& state, int rows0, int rows1) {
  if (state.rows[0] == rows0 && state.rows[1] == rows1) return;
  state.rows[0] = rows0;
  state.rows[1] = rows1;
  TileConfig config;
  for (int tile = 0; tile < 8; ++tile) {
    config.row_bytes[tile] = 64;
    config.rows[tile] = kTileRows;
  }
  config.rows[0] = config.rows[1] = config.rows[4] = static_cast<uint8_t>(rows0);
  const int other = rows1 > 0 ? rows1 : rows0;
  config.rows[2] = config.rows[3] = config.rows[5] = static_cast<uint8_t>(other);
  // The intrinsic of GCC 12 says that eight bytes are read: it may leave out stores to the others.
  asm volatile("ldtilecfg %0" : : "m"(config));
}

[[gnu::always_inline]] inline void sum_2x2(const Product& p) {
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  const int64_t pitch = p.a_pitch;
  for (int s = 0; s < p.count; ++s) {
    const char* a0 = p.a[0] + p.summands[s].a;
    const char* a1 = p.a[1] + p.summands[s].a;
    const char* b = p.b + p.summands[s].b;
    for (int k = 0; k < p.k_blocks; ++k) {
      _tile_loadd(6, b, 64);
      _tile_loadd(4, a0, pitch);
      _tile_dpbf16ps(0, 4, 6);
      _tile_loadd(7, b + p.b_columns, 64);
      _tile_dpbf16ps(1, 4, 7);
      _tile_loadd(5, a1, pitch);
      _tile_dpbf16ps(2, 5, 6);
      _tile_dpbf16ps(3, 5, 7);
      a0 += 64;
      a1 += 64;
      b += kTileBytes;
    }
  }
}

[[gnu::always_inline]] inline void sum_2x1(const Product& p) {
  _tile_zero(0);
  _tile_zero(2);
  for (int s = 0; s < p.count; ++s) {
    const char* a0 = p.a[0] + p.summands[s].a;
    const char* a1 = p.a[1] + p.summands[s].a;
    const char* b = p.b + p.summands[s].b;
    for (int k = 0; k < p.k_blocks; ++k) {
      _tile_loadd(6, b, 64);
      _tile_loadd(4, a0, p.a_pitch);
      _tile_dpbf16ps(0, 4, 6);
      _tile_loadd(5, a1, p.a_pitch);
      _tile_dpbf16ps(2, 5, 6);
      a0 += 64;
      a1 += 64;
      b += kTileBytes;
    }
  }
}

template <int columns>
[[gnu::always_inline]] inline void sum_1xn(const Product& p) {
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  for (int s = 0; s < p.count; ++s) {
    const char* a0 = p.a[0] + p.summands[s].a;
    const char* b = p.b + p.summands[s].b;
    for (int k = 0; k < p.k_blocks; ++k) {
      _tile_loadd(4, a0, p.a_pitch);
      _tile_loadd(6, b, 64);
      _tile_dpbf16ps(0, 4, 6);
      if constexpr (columns > 1) {
        _tile_loadd(7, b + p.b_columns, 64);
        _tile_dpbf16ps(1, 4, 7);
      }
      if constexpr (columns > 2) {
        _tile_loadd(6, b + 2 * p.b_columns, 64);
        _tile_dpbf16ps(2, 4, 6);
      }
      if constexpr (columns > 3) {
        _tile_loadd(7, b + 3 * p.b_columns, 64);
        _tile_dpbf16ps(3, 4, 7);
      }
      a0 += 64;
      b += kTileBytes;
    }
  }
}

/// Two tiles of sums, side by side, to `rows` rows of up to 32 columns.
void store(const Product& p, const float* left, const float* right, int column, int rows,
           uint16_t* dst) {
  const int columns = p.columns - column < 32 ? p.columns - column : 32;
  const auto mask = static_cast<__mmask32>(columns == 32 ? ~0U : (1U << columns) - 1);
  __m512 bias0 = _mm512_setzero_ps();
  __m512 bias1 = _mm512_setzero_ps();
  if (p.bias != nullptr) {
    bias0 = _mm512_maskz_loadu_ps(static_cast<__mmask16>(mask), p.bias + column);
    bias1 = _mm512_maskz_loadu_ps(static_cast<__mmask16>(mask >> 16), p.bias + column + 16);
  }
  for (int row = 0; row < rows; ++row) {
    __m512 v0 = _mm512_add_ps(_mm512_load_ps(left + row * 16), bias0);
    __m512 v1 = _mm512_add_ps(_mm512_load_ps(right + row * 16), bias1);
    if (p.relu) {  // the second operand is what comes out where one is NaN
      v0 = _mm512_max_ps(_mm512_setzero_ps(), v0);
      v1 = _mm512_max_ps(_mm512_setzero_ps(), v1);
    }
    const __m512bh both = _mm512_cvtne2ps_pbh(v1, v0);
    __m512i bits;
    __builtin_memcpy(&bits, &both, sizeof bits);
    _mm512_mask_storeu_epi16(dst + row * p.dst_pitch + column, mask, bits);
  }
}

/// Sums [row][m] to rows m, with bias and ReLU.
void store_columns(const DenseRows& p, float (*sums)[256]) {
  const auto mask = static_cast<__mmask16>((1U << p.rows) - 1);
  const __m512 bias = p.bias == nullptr ? _mm512_setzero_ps() : _mm512_maskz_loadu_ps(mask, p.bias);
  for (int first = 0; first < p.m; first += 16) {
    __m512i words[16];
    for (int row = 0; row < 16; ++row) {
      words[row] =
          row < p.rows ? _mm512_load_si512(sums[first / 16] + row * 16) : _mm512_setzero_si512();
    }
    transpose_words(words);
    const int count = p.m - first < 16 ? p.m - first : 16;
    for (int i = 0; i < count; ++i) {
      __m512 v = _mm512_add_ps(_mm512_castsi512_ps(words[i]), bias);
      if (p.relu) v = _mm512_max_ps(_mm512_setzero_ps(), v);
      const int64_t at = (first + i) * p.dst_pitch;
      if (p.dst_f32 != nullptr) {
        _mm512_mask_storeu_ps(p.dst_f32 + at, mask, v);
      } else {
        const __m256bh half = _mm512_cvtneps_pbh(v);
        __m256i bits;
        __builtin_memcpy(&bits, &half, sizeof bits);
        _mm256_mask_storeu_epi16(p.dst + at, mask, bits);
      }
    }
  }
}

}  // namespace

void release_tiles(TileState& state) {
  if (state.rows[0] > 0) _tile_release();
  _mm_sfence();  // what was streamed is seen by whoever waits for this thread
  state = {};
}

void product(const Product& p, TileState& state) {
  alignas(64) float sums[4][256];
  const int tiles = (p.columns + 15) / 16;
  if (p.rows[1] > 0) {
    configure(state, p.whole ? kTileRows : p.rows[0], p.whole ? kTileRows : p.rows[1]);
    if (tiles > 1) {
      sum_2x2(p);
      _tile_stored(1, sums[1], 64);
      _tile_stored(3, sums[3], 64);
    } else {
      sum_2x1(p);
    }
    _tile_stored(0, sums[0], 64);
    _tile_stored(2, sums[2], 64);
    store(p, sums[0], sums[1], 0, p.rows[0], p.dst[0]);
    store(p, sums[2], sums[3], 0, p.rows[1], p.dst[1]);
    return;
  }
  configure(state, p.whole ? kTileRows : p.rows[0], p.whole ? kTileRows : 0);
  if (tiles == 1) sum_1xn<1>(p);
  if (tiles == 2) sum_1xn<2>(p);
  if (tiles == 3) sum_1xn<3>(p);
  if (tiles == 4) sum_1xn<4>(p);
  _tile_stored(0, sums[0], 64);
  _tile_stored(1, sums[1], 64);
  store(p, sums[0], sums[1], 0, p.rows[0], p.dst[0]);
  if (tiles > 2) {
    _tile_stored(2, sums[2], 64);
    _tile_stored(3, sums[3], 64);
    store(p, sums[2], sums[3], 32, p.rows[0], p.dst[0]);
  }
}

void store_rounded(const float* left, const float* right, int rows, int columns, uint16_t* dst,
                   int64_t pitch) {
  Product p{};
  p.columns = columns;
  p.dst_pitch = pitch;
  store(p, left, right, 0, rows, dst);
}

void store_streaming(const float* left, const float* right, int rows, int columns, float* dst,
                     int64_t pitch) {
  if (columns == 32 && pitch % 16 == 0 && reinterpret_cast<uintptr_t>(dst) % 64 == 0) {
    for (int row = 0; row < rows; ++row) {
      _mm512_stream_ps(dst + row * pitch, _mm512_load_ps(left + row * 16));
      _mm512_stream_ps(dst + row * pitch + 16, _mm512_load_ps(right + row * 16));
    }
    return;
  }
  const auto mask = static_cast<uint32_t>(columns == 32 ? ~0U : (1U << columns) - 1);
  for (int row = 0; row < rows; ++row) {
    _mm512_mask_storeu_ps(dst + row * pitch, static_cast<__mmask16>(mask),
                          _mm512_load_ps(left + row * 16));
    _mm512_mask_storeu_ps(dst + row * pitch + 16, static_cast<__mmask16>(mask >> 16),
                          _mm512_load_ps(right + row * 16));
  }
}

void dense_rows(const DenseRows& p, TileState& state) {
  configure(state, p.rows, 0);
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  const int tiles = (p.m + 15) / 16;
  constexpr int64_t kAhead = 16 * 64;  // bytes
  const char* a = p.weights;
  const char* b = p.src;
  for (int k = 0; k < p.k_blocks; ++k) {
    for (int row = 0; row < p.rows; ++row) {
      _mm_prefetch(a + row * p.weights_pitch + kAhead, _MM_HINT_T0);
    }
    _tile_loadd(4, a, p.weights_pitch);
    _tile_loadd(6, b, 64);
    _tile_dpbf16ps(0, 4, 6);
    if (tiles > 1) {
      _tile_loadd(7, b + kTileBytes, 64);
      _tile_dpbf16ps(1, 4, 7);
    }
    if (tiles > 2) {
      _tile_loadd(6, b + 2 * kTileBytes, 64);
      _tile_dpbf16ps(2, 4, 6);
    }
    if (tiles > 3) {
      _tile_loadd(7, b + 3 * kTileBytes, 64);
      _tile_dpbf16ps(3, 4, 7);
    }
    a += 64;
    b += p.src_k;
  }
  alignas(64) float sums[4][256];
  _tile_stored(0, sums[0], 64);
  _tile_stored(1, sums[1], 64);
  _tile_stored(2, sums[2], 64);
  _tile_stored(3, sums[3], 64);
  store_columns(p, sums);
}

void tile_sums(const TileSums& p, TileState& state) {
  configure(state, kTileRows, kTileRows);
  float* at[4] = {p.sums, p.sums + 256, p.sums + 512, p.sums + 768};
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  if (p.add) {
    _tile_loadd(0, at[0], 64);
    if (p.i_tiles > 1) _tile_loadd(1, at[1], 64);
    if (p.o_tiles > 1) _tile_loadd(2, at[2], 64);
    if (p.o_tiles > 1 && p.i_tiles > 1) _tile_loadd(3, at[3], 64);
  }
  // A missing second tile is the first one again: its sums are thrown away.
  const int64_t a_step = p.o_tiles > 1 ? p.a_tiles : 0;
  const int64_t b_step = p.i_tiles > 1 ? p.b_tiles : 0;
  for (int s = 0; s < p.count; ++s) {
    const char* a = p.a + p.summands[s].a;
    const char* b = p.b + p.summands[s].b;
    for (int k = 0; k < p.k_blocks; ++k) {
      _tile_loadd(4, a, 64);
      _tile_loadd(6, b, 64);
      _tile_dpbf16ps(0, 4, 6);
      _tile_loadd(7, b + b_step, 64);
      _tile_dpbf16ps(1, 4, 7);
      _tile_loadd(5, a + a_step, 64);
      _tile_dpbf16ps(2, 5, 6);
      _tile_dpbf16ps(3, 5, 7);
      a += kTileBytes;
      b += kTileBytes;
    }
  }
  _tile_stored(0, at[0], 64);
  if (p.i_tiles > 1) _tile_stored(1, at[1], 64);
  if (p.o_tiles > 1) _tile_stored(2, at[2], 64);
  if (p.o_tiles > 1 && p.i_tiles > 1) _tile_stored(3, at[3], 64);
}

}  // namespace syrtos::ops::native::amx
