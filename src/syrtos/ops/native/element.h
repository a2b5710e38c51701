#pragma once

// Vectors of floats and their loads and stores from f32 and bf16 memory, for .isa.cc files only.
// They use the compiler's vector types, so one text serves all instruction sets; intrinsics stand
// only where the compiler finds no good code: masked tails and the bf16 conversion.

#ifndef SYRTOS_ISA
#error "element.h is for .isa.cc files, which are compiled once for each SYRTOS_ISA"
#endif

#include <cstdint>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace syrtos::ops::native::SYRTOS_ISA {
namespace {

#if defined(__AVX512F__)
constexpr int kLanes = 16;
#elif defined(__AVX2__)
constexpr int kLanes = 8;
#else
constexpr int kLanes = 4;
#endif

typedef float Vec __attribute__((vector_size(kLanes * 4)));
typedef int32_t IntVec __attribute__((vector_size(kLanes * 4)));
typedef uint32_t UIntVec __attribute__((vector_size(kLanes * 4)));
typedef uint16_t HalfVec __attribute__((vector_size(kLanes * 2)));
typedef double DoubleVec __attribute__((vector_size(kLanes * 4)));    // kLanes / 2 doubles
typedef float HalfFloatVec __attribute__((vector_size(kLanes * 2)));  // kLanes / 2 floats

/// An element of a bf16 tensor.
struct Bf16 {
  uint16_t bits;
};

[[gnu::always_inline]] inline Vec broadcast(float value) { return Vec{} + value; }
[[gnu::always_inline]] inline Vec vec_max(Vec a, Vec b) { return a > b ? a : b; }
[[gnu::always_inline]] inline Vec vec_min(Vec a, Vec b) { return a < b ? a : b; }

/// max(x, 0) that keeps NaN.
[[gnu::always_inline]] inline Vec relu(Vec x) { return x < 0.0f ? Vec{} : x; }

/// The gradient of relu from its result; NaN results let the gradient through.
[[gnu::always_inline]] inline Vec relu_mask(Vec y, Vec diff) { return y <= 0.0f ? Vec{} : diff; }

[[gnu::always_inline]] inline Vec from_bf16(HalfVec half) {
#if defined(__AVX512F__)
  // The compiler would widen two halves and join them.
  const auto words = _mm512_maskz_cvtepu16_epi32(0xffff, reinterpret_cast<__m256i>(half));
  return reinterpret_cast<Vec>(reinterpret_cast<UIntVec>(words) << 16);
#elif defined(__AVX2__)
  const auto words = _mm256_cvtepu16_epi32(reinterpret_cast<__m128i>(half));
  return reinterpret_cast<Vec>(reinterpret_cast<UIntVec>(words) << 16);
#else
  return reinterpret_cast<Vec>(__builtin_convertvector(half, UIntVec) << 16);
#endif
}

/// Round to nearest even; NaN stays NaN. The AVX512-BF16 instruction flushes subnormals to zero.
[[gnu::always_inline]] inline HalfVec to_bf16(Vec v) {
#if defined(__AVX512BF16__)
  const __m256bh half = _mm512_cvtneps_pbh(reinterpret_cast<__m512>(v));
  HalfVec result;
  __builtin_memcpy(&result, &half, sizeof result);
  return result;
#else
  const UIntVec bits = reinterpret_cast<UIntVec>(v);
  const UIntVec rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
  const UIntVec quiet = (bits >> 16) | 0x40u;
  const UIntVec words = v == v ? rounded : quiet;
#if defined(__AVX512F__)
  return reinterpret_cast<HalfVec>(
      _mm512_maskz_cvtepi32_epi16(0xffff, reinterpret_cast<__m512i>(words)));
#else
  return __builtin_convertvector(words, HalfVec);
#endif
#endif
}

[[gnu::always_inline]] inline Vec load(const float* p) {
  Vec v;
  __builtin_memcpy(&v, p, sizeof v);
  return v;
}
[[gnu::always_inline]] inline Vec load(const Bf16* p) {
  HalfVec half;
  __builtin_memcpy(&half, p, sizeof half);
  return from_bf16(half);
}
[[gnu::always_inline]] inline void store(float* p, Vec v) { __builtin_memcpy(p, &v, sizeof v); }
[[gnu::always_inline]] inline void store(Bf16* p, Vec v) {
  const HalfVec half = to_bf16(v);
  __builtin_memcpy(p, &half, sizeof half);
}

// The first n < kLanes elements; the other lanes are zero, and nothing beyond is touched.
#if defined(__AVX512F__)
[[gnu::always_inline]] inline __mmask16 first_lanes(int n) {
  return static_cast<__mmask16>((1u << n) - 1);
}
[[gnu::always_inline]] inline Vec load(const float* p, int n) {
  return reinterpret_cast<Vec>(_mm512_maskz_loadu_ps(first_lanes(n), p));
}
[[gnu::always_inline]] inline Vec load(const Bf16* p, int n) {
  return from_bf16(reinterpret_cast<HalfVec>(_mm256_maskz_loadu_epi16(first_lanes(n), p)));
}
[[gnu::always_inline]] inline void store(float* p, Vec v, int n) {
  _mm512_mask_storeu_ps(p, first_lanes(n), reinterpret_cast<__m512>(v));
}
[[gnu::always_inline]] inline void store(Bf16* p, Vec v, int n) {
  _mm256_mask_storeu_epi16(p, first_lanes(n), reinterpret_cast<__m256i>(to_bf16(v)));
}
#else
template <typename T>
inline Vec load(const T* p, int n) {
  T buffer[kLanes] = {};
  for (int i = 0; i < n; ++i) buffer[i] = p[i];
  return load(buffer);
}
template <typename T>
inline void store(T* p, Vec v, int n) {
  T buffer[kLanes];
  store(buffer, v);
  for (int i = 0; i < n; ++i) p[i] = buffer[i];
}
#endif

/// The same with another value in the other lanes.
template <typename T>
inline Vec load_or(const T* p, int n, float other) {
  Vec v = load(p, n);
  for (int i = 0; i < kLanes; ++i) v[i] = i < n ? v[i] : other;
  return v;
}

inline float horizontal_sum(Vec v) {
  float lanes[kLanes];
  __builtin_memcpy(lanes, &v, sizeof v);
  for (int width = kLanes / 2; width > 0; width /= 2) {
    for (int i = 0; i < width; ++i) lanes[i] += lanes[i + width];
  }
  return lanes[0];
}
inline float horizontal_max(Vec v) {
  float result = v[0];
  for (int i = 1; i < kLanes; ++i) result = v[i] > result ? v[i] : result;
  return result;
}

/// Adds the floats of v to kLanes doubles.
[[gnu::always_inline]] inline void add_to(double* p, Vec v) {
  struct Halves {
    HalfFloatVec low, high;
  } halves;
  static_assert(sizeof halves == sizeof v);
  __builtin_memcpy(&halves, &v, sizeof v);
  DoubleVec low, high;
  __builtin_memcpy(&low, p, sizeof low);
  __builtin_memcpy(&high, p + kLanes / 2, sizeof high);
  low += __builtin_convertvector(halves.low, DoubleVec);
  high += __builtin_convertvector(halves.high, DoubleVec);
  __builtin_memcpy(p, &low, sizeof low);
  __builtin_memcpy(p + kLanes / 2, &high, sizeof high);
}

/// A piece of a row: V full vectors from column `column`, or (kPartial) `count` columns of one.
template <int V, bool kPartial>
struct Tile {
  static constexpr int kVectors = V;
  int64_t column;
  int count;

  template <typename T>
  [[gnu::always_inline]] Vec get(const T* row, int v) const {
    if constexpr (kPartial) return load(row + column, count);
    return load(row + column + v * kLanes);
  }
  template <typename T>
  [[gnu::always_inline]] void put(T* row, int v, Vec value) const {
    if constexpr (kPartial) {
      store(row + column, value, count);
    } else {
      store(row + column + v * kLanes, value);
    }
  }
  /// Adds to doubles; their array is padded to whole vectors.
  [[gnu::always_inline]] void accumulate(double* row, int v, Vec value) const {
    add_to(row + column + v * kLanes, value);
  }
};

/// Calls body(tile) for tiles that cover the columns [begin, end). V accumulators of a few kinds
/// fit into the registers of each instruction set.
template <typename Body>
[[gnu::always_inline]] inline void for_each_tile(int64_t begin, int64_t end, Body&& body) {
  int64_t c = begin;
  for (; c + 4 * kLanes <= end; c += 4 * kLanes) body(Tile<4, false>{c, 4 * kLanes});
  for (; c + kLanes <= end; c += kLanes) body(Tile<1, false>{c, kLanes});
  if (c < end) body(Tile<1, true>{c, static_cast<int>(end - c)});
}

}  // namespace
}  // namespace syrtos::ops::native::SYRTOS_ISA
