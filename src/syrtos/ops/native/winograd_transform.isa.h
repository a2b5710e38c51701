#pragma once

#include <cstdint>

#if defined(__SSE2__)
#include <immintrin.h>
#endif

// The one-dimensional transforms of winograd.isa.cc, on vectors of channels. Rows and columns of a
// tile go through the same functions, first one, then the other.
//
// The polynomials behind F(4, 3) are evaluated at 0, +-a, +-b and infinity. Equal magnitudes come
// in pairs, so each pair shares its even and its odd part. Any a and b give a correct algorithm;
// they decide how much it rounds: with 1 and 2, the usual choice, third powers of 2 (twice, for
// rows and columns) amplify errors. Values on both sides of 1 keep the powers balanced: the roots
// of 1/2 and 2 have a quarter of the error, exact squares, and a b = 1 saves a multiplication.

namespace syrtos::ops::native::SYRTOS_ISA {
namespace {

#if defined(__AVX512F__)
constexpr int kLanes = 16;
#elif defined(__AVX2__)
constexpr int kLanes = 8;
#else
constexpr int kLanes = 4;
#endif

typedef float Vec __attribute__((vector_size(4 * kLanes)));

constexpr float kA = 0.70710678F;
constexpr float kB = 1.41421356F;
constexpr float kA2 = 0.5F;
constexpr float kB2 = 2.0F;
constexpr float kZeroScale = 1.0F / (kA2 * kB2);
constexpr float kScaleA = 1.0F / (2 * kA2 * (kA2 - kB2));
constexpr float kScaleB = 1.0F / (2 * kB2 * (kB2 - kA2));

inline Vec load(const float* at) {
  Vec v;
  __builtin_memcpy(&v, at, sizeof v);
  return v;
}

inline void store(float* at, Vec v) { __builtin_memcpy(at, &v, sizeof v); }

inline Vec splat(float value) {
#if defined(__AVX512F__)
  return reinterpret_cast<Vec>(_mm512_set1_ps(value));
#else
  return value - Vec{};
#endif
}

// The first `count` lanes, zero in the others; count may be anything.
inline Vec load_part(const float* at, int count) {
#if defined(__AVX512F__)
  const __mmask16 mask = count >= 16 ? 0xFFFF : count <= 0 ? 0 : (1U << count) - 1;
  return reinterpret_cast<Vec>(_mm512_maskz_loadu_ps(mask, at));
#else
  if (count >= kLanes) return load(at);
  Vec v{};
  for (int lane = 0; lane < count; ++lane) v[lane] = at[lane];
  return v;
#endif
}

inline void store_part(float* at, Vec v, int count) {
#if defined(__AVX512F__)
  const __mmask16 mask = count >= 16 ? 0xFFFF : count <= 0 ? 0 : (1U << count) - 1;
  _mm512_mask_storeu_ps(at, mask, reinterpret_cast<__m512>(v));
#else
  if (count >= kLanes) return store(at, v);
  for (int lane = 0; lane < count; ++lane) at[lane] = v[lane];
#endif
}

// 6 inputs -> 6 points (B^T).
inline void src_points(const Vec (&d)[6], Vec (&v)[6]) {
  const Vec even_a = d[4] - kB2 * d[2];
  const Vec odd_a = d[3] - kB2 * d[1];
  const Vec even_b = d[4] - kA2 * d[2];
  const Vec odd_b = d[3] - kA2 * d[1];
  v[0] = kA2 * kB2 * d[0] + (d[4] - (kA2 + kB2) * d[2]);
  v[1] = even_a + kA * odd_a;
  v[2] = even_a - kA * odd_a;
  v[3] = even_b + kB * odd_b;
  v[4] = even_b - kB * odd_b;
  v[5] = kA2 * kB2 * d[1] + (d[5] - (kA2 + kB2) * d[3]);
}

// 4 gradients of outputs -> 6 points (A).
inline void diff_dst_points(const Vec (&y)[4], Vec (&z)[6]) {
  const Vec even_a = y[0] + kA2 * y[2];
  const Vec odd_a = y[1] + kA2 * y[3];
  const Vec even_b = y[0] + kB2 * y[2];
  const Vec odd_b = y[1] + kB2 * y[3];
  z[0] = y[0];
  z[1] = even_a + kA * odd_a;
  z[2] = even_a - kA * odd_a;
  z[3] = even_b + kB * odd_b;
  z[4] = even_b - kB * odd_b;
  z[5] = y[3];
}

// 3 taps -> 6 points (G).
inline void weights_points(const Vec (&w)[3], Vec (&u)[6]) {
  const Vec even_a = kScaleA * w[0] + (kScaleA * kA2) * w[2];
  const Vec even_b = kScaleB * w[0] + (kScaleB * kB2) * w[2];
  u[0] = kZeroScale * w[0];
  u[1] = even_a + (kScaleA * kA) * w[1];
  u[2] = even_a - (kScaleA * kA) * w[1];
  u[3] = even_b + (kScaleB * kB) * w[1];
  u[4] = even_b - (kScaleB * kB) * w[1];
  u[5] = w[2];
}

// 6 points -> 4 outputs (A^T).
inline void points_dst(const Vec (&m)[6], Vec (&y)[4]) {
  const Vec even_a = m[1] + m[2];
  const Vec odd_a = m[1] - m[2];
  const Vec even_b = m[3] + m[4];
  const Vec odd_b = m[3] - m[4];
  y[0] = m[0] + even_a + even_b;
  y[1] = kA * odd_a + kB * odd_b;
  y[2] = kA2 * even_a + kB2 * even_b;
  y[3] = (kA2 * kA) * odd_a + ((kB2 * kB) * odd_b + m[5]);
}

// 6 points -> gradients of 3 taps (G^T).
inline void points_diff_weights(const Vec (&u)[6], Vec (&w)[3]) {
  const Vec even_a = u[1] + u[2];
  const Vec odd_a = u[1] - u[2];
  const Vec even_b = u[3] + u[4];
  const Vec odd_b = u[3] - u[4];
  w[0] = kZeroScale * u[0] + (kScaleA * even_a + kScaleB * even_b);
  w[1] = (kScaleA * kA) * odd_a + (kScaleB * kB) * odd_b;
  w[2] = (kScaleA * kA2) * even_a + ((kScaleB * kB2) * even_b + u[5]);
}

}  // namespace
}  // namespace syrtos::ops::native::SYRTOS_ISA
