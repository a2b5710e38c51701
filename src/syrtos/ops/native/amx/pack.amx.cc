#include <immintrin.h>

#include "syrtos/ops/native/amx/kernels.h"
#include "syrtos/ops/native/amx/words.h"

// Bringing operands into the order of tiles: pairs of rows side by side, and transposes of 16 x 16
// words, where a word is such a pair.

namespace syrtos::ops::native::amx {
namespace {

alignas(64) constexpr uint16_t kLowPairs[32] = {0,  32, 1,  33, 2,  34, 3,  35, 4,  36, 5,
                                                37, 6,  38, 7,  39, 8,  40, 9,  41, 10, 42,
                                                11, 43, 12, 44, 13, 45, 14, 46, 15, 47};

/// Columns 0 to 15, and 16 to 31, of two rows side by side.
struct Interleaver {
  __m512i low = _mm512_load_si512(kLowPairs);
  __m512i high = _mm512_add_epi16(low, _mm512_set1_epi16(16));
};

__mmask32 first_lanes(int n) { return static_cast<__mmask32>(n >= 32 ? ~0U : (1U << n) - 1); }

[[gnu::always_inline]] inline __m512i load_row(const uint16_t* row, int column, __mmask32 mask) {
  if (row == nullptr) return _mm512_setzero_si512();
  return _mm512_maskz_loadu_epi16(mask, row + column);
}

}  // namespace

void interleave_pairs(const uint16_t* const* first, const uint16_t* const* second, int pairs,
                      int columns, char* dst, int64_t dst_columns) {
  const Interleaver lanes;
  for (int column = 0; column < columns; column += 32) {
    const __mmask32 mask = first_lanes(columns - column);
    char* left = dst + column / 16 * dst_columns;
    const bool two = columns - column > 16;
    for (int p = 0; p < pairs; ++p) {
      const __m512i a = load_row(first[p], column, mask);
      const __m512i b = load_row(second[p], column, mask);
      _mm512_store_si512(left + p * 64, _mm512_permutex2var_epi16(a, lanes.low, b));
      if (two) {
        _mm512_store_si512(left + dst_columns + p * 64,
                           _mm512_permutex2var_epi16(a, lanes.high, b));
      }
    }
  }
}

void transpose_pairs(const uint16_t* const* first, const uint16_t* const* second, int pairs,
                     int columns, char* dst, int64_t dst_columns) {
  const Interleaver lanes;
  for (int column = 0; column < columns; column += 32) {
    const __mmask32 mask = first_lanes(columns - column);
    __m512i left[16];
    __m512i right[16];
    for (int p = 0; p < 16; ++p) {
      left[p] = right[p] = _mm512_setzero_si512();
      if (p >= pairs) continue;
      const __m512i a = load_row(first[p], column, mask);
      const __m512i b = load_row(second[p], column, mask);
      left[p] = _mm512_permutex2var_epi16(a, lanes.low, b);
      right[p] = _mm512_permutex2var_epi16(a, lanes.high, b);
    }
    char* at = dst + column / 16 * dst_columns;
    transpose_words(left);
    for (int row = 0; row < 16; ++row) _mm512_store_si512(at + row * 64, left[row]);
    if (columns - column <= 16) continue;
    transpose_words(right);
    for (int row = 0; row < 16; ++row) {
      _mm512_store_si512(at + dst_columns + row * 64, right[row]);
    }
  }
}

void transpose_columns(const uint16_t* const* rows, int k, int count, char* tile) {
  __m512i r[16];
  for (int i = 0; i < 16; ++i) r[i] = load_row(rows[i], k, first_lanes(count));
  transpose_words(r);
  for (int i = 0; i < 16; ++i) _mm512_store_si512(tile + i * 64, r[i]);
}

void copy_rows(const uint16_t* const* rows, int k, int count, char* tile) {
  for (int i = 0; i < 16; ++i) {
    _mm512_store_si512(tile + i * 64, load_row(rows[i], k, first_lanes(count)));
  }
}

void transpose_weights(const char* tile, char* first_half, char* second_half) {
  const Interleaver lanes;
  __m512i r[16];
  for (int i = 0; i < 16; ++i) r[i] = _mm512_loadu_si512(tile + i * 64);
  transpose_words(r);  // now r[o] holds 32 i
  for (int pair = 0; pair < 8; ++pair) {
    const __m512i a = r[2 * pair];
    const __m512i b = r[2 * pair + 1];
    _mm512_store_si512(first_half + pair * 64, _mm512_permutex2var_epi16(a, lanes.low, b));
    _mm512_store_si512(second_half + pair * 64, _mm512_permutex2var_epi16(a, lanes.high, b));
  }
}

void store_gradient_tile(const float* sums, int64_t sums_tiles, float* dst) {
  // Pairs of i as words of 64 bits: 8 x 8 of them at a time, [o][i pair] -> [i pair][o].
  for (int half = 0; half < 2; ++half) {
    for (int octet = 0; octet < 2; ++octet) {
      __m512d r[8];
      __m512d t[8];
      const float* from = sums + half * sums_tiles + octet * 8 * 16;
      for (int o = 0; o < 8; ++o) r[o] = _mm512_castps_pd(_mm512_loadu_ps(from + o * 16));
      for (int i = 0; i < 8; i += 2) {
        t[i] = _mm512_unpacklo_pd(r[i], r[i + 1]);
        t[i + 1] = _mm512_unpackhi_pd(r[i], r[i + 1]);
      }
      for (int i = 0; i < 2; ++i) {  // t[even]: pairs 0 2 4 6 of two o, t[odd]: 1 3 5 7
        r[i] = _mm512_shuffle_f64x2(t[i], t[i + 2], 0x88);
        r[i + 2] = _mm512_shuffle_f64x2(t[i], t[i + 2], 0xdd);
        r[i + 4] = _mm512_shuffle_f64x2(t[i + 4], t[i + 6], 0x88);
        r[i + 6] = _mm512_shuffle_f64x2(t[i + 4], t[i + 6], 0xdd);
      }
      for (int i = 0; i < 2; ++i) {
        t[i] = _mm512_shuffle_f64x2(r[i], r[i + 4], 0x88);          // pair i
        t[i + 4] = _mm512_shuffle_f64x2(r[i], r[i + 4], 0xdd);      // pair i + 4
        t[i + 2] = _mm512_shuffle_f64x2(r[i + 2], r[i + 6], 0x88);  // pair i + 2
        t[i + 6] = _mm512_shuffle_f64x2(r[i + 2], r[i + 6], 0xdd);
      }
      for (int pair = 0; pair < 8; ++pair) {
        float* to = dst + (half * 8 + pair) * 32 + octet * 16;
        _mm512_stream_ps(to, _mm512_castpd_ps(t[pair]));
      }
    }
  }
}

void gather_segments(const Segments& p, const uint16_t* row, int w, int count, uint16_t* dst) {
  const int length = p.kernel_w * p.in_c;
  const __mmask32 whole = first_lanes(length);
  for (int i = 0; i < count; ++i, dst += p.pitch) {
    const int left = (w + i) * p.stride_w - p.pad_left;
    const uint16_t* from = row + int64_t{left} * p.in_c;
    if (length <= 32 && left >= 0 && left + p.kernel_w <= p.in_w) {
      _mm512_store_si512(dst, _mm512_maskz_loadu_epi16(whole, from));
      continue;
    }
    // Elements of the segment that lie within the image.
    const int last = left + p.kernel_w < p.in_w ? p.kernel_w : p.in_w - left;
    const int begin = left < 0 ? -left * p.in_c : 0;
    const int end = last * p.in_c;
    for (int at = 0; at < p.pitch; at += 32) {
      __mmask32 mask = end > at ? first_lanes(end - at) : 0;
      if (begin > at) mask &= ~first_lanes(begin - at);
      _mm512_store_si512(dst + at, _mm512_maskz_loadu_epi16(mask, from + at));
    }
  }
}

}  // namespace syrtos::ops::native::amx
