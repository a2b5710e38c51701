#pragma once

#include <cstdint>

#include "syrtos/ops/native/conv_wgrad_tile.isa.h"

// From elements of src and diff_dst to the words of 32 bits that conv_wgrad.isa.cc computes with:
// an f32 as it is, a bf16 widened to f32, or, where the CPU multiplies pairs of bf16, the same
// element of two images side by side.

namespace syrtos::ops::native::SYRTOS_ISA {
namespace {

inline int least(int a, int b) { return a < b ? a : b; }
inline int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

// Part of the reduction: a range of images and of output rows, with the input rows they touch.
struct Block {
  int n_begin, n_end;
  int oh_begin, oh_end;
  int h_begin, h_end;
  int words;  // of k per pixel
};

inline float widen(uint16_t bf16) {
  const uint32_t bits = uint32_t{bf16} << 16;
  float value;
  __builtin_memcpy(&value, &bits, sizeof value);
  return value;
}

enum class Source { f32, bf16_widened, bf16_pairs };

#if defined(__AVX512F__)
inline __mmask16 first_lanes(int count) {
  return count >= 16 ? 0xFFFF : count <= 0 ? 0 : (1U << count) - 1U;
}

// Elements of src or diff_dst as words of 32 bits, zero outside of the mask. (The masked forms of
// the conversions only keep GCC 12 from warning of its own undefined registers.)
template <Source kSource>
inline __m512i load_words(__mmask16 lanes, const void* at, const void* second) {
  if constexpr (kSource == Source::f32) return _mm512_maskz_loadu_epi32(lanes, at);
  const __m512i low = _mm512_maskz_cvtepu16_epi32(lanes, _mm256_maskz_loadu_epi16(lanes, at));
  if constexpr (kSource == Source::bf16_widened) return _mm512_maskz_slli_epi32(lanes, low, 16);
  if (second == nullptr) return low;
  const __m512i high = _mm512_maskz_cvtepu16_epi32(lanes, _mm256_maskz_loadu_epi16(lanes, second));
  return _mm512_or_si512(low, _mm512_maskz_slli_epi32(lanes, high, 16));
}

inline void store_words(float* to, __m512i words, int width) {
  if (width >= 16) {
    _mm512_storeu_si512(to, words);
  } else {
    _mm512_mask_storeu_epi32(to, first_lanes(width), words);
  }
}
#endif

// `count` channels at `at`, as words of 32 bits; `to` receives `width` words (a multiple of 4), the
// rest are zero or neighbouring channels that nobody reads. For pairs, `second` is the same place
// in the next image, or null after the last.
template <Source kSource>
inline void put_words(float* to, const void* at, const void* second, int count, int width) {
#if defined(__AVX512F__)
  constexpr int kStep = kSource == Source::f32 ? 64 : 32;  // bytes of 16 elements
  const auto* from = static_cast<const char*>(at);
  const auto* from_second = static_cast<const char*>(second);
  for (int c = 0; c < width; c += 16) {
    store_words(to + c, load_words<kSource>(first_lanes(count - c), from, from_second), width - c);
    from += kStep;
    if (from_second != nullptr) from_second += kStep;
  }
#else
  (void)second;
  for (int c = 0; c < width; ++c) {
    if (c >= count) {
      to[c] = 0;
    } else if constexpr (kSource == Source::f32) {
      to[c] = static_cast<const float*>(at)[c];
    } else {
      to[c] = widen(static_cast<const uint16_t*>(at)[c]);
    }
  }
#endif
}

// The images of one word of k: the same pixel and channel of image n, and of n + 1 for pairs.
template <Source kSource>
struct Images {
  const char* base;
  int64_t image;  // bytes
  int n_begin, n_end;

  Images(const void* tensor, int64_t pixels, int channels, const Block& block)
      : base(static_cast<const char*>(tensor)),
        image(pixels * channels * (kSource == Source::f32 ? 4 : 2)),
        n_begin(block.n_begin),
        n_end(block.n_end) {}
  static constexpr int kPerWord = kSource == Source::bf16_pairs ? 2 : 1;
  static constexpr int kBytes = kSource == Source::f32 ? 4 : 2;

  const char* at(int word, int64_t element) const {
    return base + (n_begin + word * kPerWord) * image + element * kBytes;
  }
  const char* second(int word, const char* first) const {
    return kPerWord == 2 && n_begin + 2 * word + 1 < n_end ? first + image : nullptr;
  }
  void put(float* to, int word, int64_t element, int count, int width) const {
    const char* first = at(word, element);
    put_words<kSource>(to, first, second(word, first), count, width);
  }
};

}  // namespace
}  // namespace syrtos::ops::native::SYRTOS_ISA
