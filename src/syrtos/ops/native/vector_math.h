#pragma once

// Exponential and related functions of vectors, for .isa.cc files only. Errors are about one unit
// in the last place of a float where fused multiply-add exists and two where it does not.

#include "syrtos/ops/native/element.h"

namespace syrtos::ops::native::SYRTOS_ISA {
namespace {

/// exp(x) for x <= 88; 0 below -87.33, where results would be subnormal. NaN stays NaN.
/// x = k ln 2 + r with |r| <= ln 2 / 2, exp(r) by a polynomial, and 2^k through the exponent bits.
inline Vec vec_exp(Vec x) {
  constexpr float kLowest = -87.33f;
  constexpr float kRound = 12582912.0f;  // 1.5 * 2^23: adding it rounds to an integer
  const Vec clamped = x < kLowest ? broadcast(kLowest) : x;
  const Vec shifted = clamped * 1.44269504f + kRound;
  const Vec k = shifted - kRound;
  // ln 2 in two parts; the first has few bits, so its product with k is exact.
  const Vec r = (clamped - k * 0.693359375f) + k * 2.12194440e-4f;
  Vec p = broadcast(1.9875691500e-4f);
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  const Vec y = (p * r * r + r) + 1.0f;
  const IntVec exponent = (reinterpret_cast<IntVec>(shifted) + 127) << 23;
  return x < kLowest ? Vec{} : y * reinterpret_cast<Vec>(exponent);
}

/// 1 / (1 + exp(-x)); 0 below -87, where results would be subnormal.
inline Vec vec_sigmoid(Vec x) {
  constexpr float kLowest = -87.0f;
  const Vec negated = x < kLowest ? broadcast(-kLowest) : -x;
  return x < kLowest ? Vec{} : 1.0f / (1.0f + vec_exp(negated));
}

/// tanh(x): an odd polynomial near 0, where 1 - 2 / (exp(2x) + 1) would lose digits.
inline Vec vec_tanh(Vec x) {
  const IntVec sign = reinterpret_cast<IntVec>(x) & INT32_MIN;
  const Vec size = reinterpret_cast<Vec>(reinterpret_cast<IntVec>(x) ^ sign);
  const Vec bounded = size > 10.0f ? broadcast(10.0f) : size;
  const Vec large = 1.0f - 2.0f / (vec_exp(bounded * 2.0f) + 1.0f);
  const Vec square = size * size;
  Vec p = broadcast(-5.70498872745e-3f);
  p = p * square + 2.06390887954e-2f;
  p = p * square - 5.37397155531e-2f;
  p = p * square + 1.33314422036e-1f;
  p = p * square - 3.33332819422e-1f;
  const Vec small = p * square * size + size;
  const Vec result = size < 0.625f ? small : large;
  return reinterpret_cast<Vec>(reinterpret_cast<IntVec>(result) | sign);
}

/// The natural logarithm; -inf for 0, NaN below. Subnormal numbers count as the smallest normal
/// one. x = 2^k m with m from sqrt(1/2) to sqrt(2), and a polynomial for log(m).
inline Vec vec_log(Vec x) {
  constexpr float kSmallest = 1.17549435e-38f;
  const Vec normal = x < kSmallest ? broadcast(kSmallest) : x;
  const IntVec bits = reinterpret_cast<IntVec>(normal);
  const IntVec shifted = bits - 0x3f3504f3;  // sqrt(1/2)
  const Vec k = __builtin_convertvector(shifted >> 23, Vec);
  const Vec r = reinterpret_cast<Vec>((shifted & 0x7fffff) + 0x3f3504f3) - 1.0f;
  const Vec square = r * r;
  Vec p = broadcast(7.0376836292e-2f);
  p = p * r - 1.1514610310e-1f;
  p = p * r + 1.1676998740e-1f;
  p = p * r - 1.2420140846e-1f;
  p = p * r + 1.4249322787e-1f;
  p = p * r - 1.6668057665e-1f;
  p = p * r + 2.0000714765e-1f;
  p = p * r - 2.4999993993e-1f;
  p = p * r + 3.3333331174e-1f;
  const Vec y = p * r * square - k * 2.12194440e-4f - 0.5f * square;
  const Vec result = (r + y) + k * 0.693359375f;
  const Vec finite = x > 3.0e38f ? (x > 3.4028234e38f ? x : result) : result;
  const Vec positive = x > 0.0f ? finite : broadcast(-__builtin_inff());
  return x >= 0.0f ? positive : broadcast(__builtin_nanf(""));
}

/// 2^t for |t| <= 120, within 3e-7: t = k + r with |r| <= 1/2, a polynomial for 2^r, and k added to
/// its exponent bits.
inline Vec exp2_within(Vec t) {
  constexpr float kRound = 12582912.0f;  // 1.5 * 2^23: adding it rounds to an integer
  const Vec shifted = t + kRound;
  const Vec r = t - (shifted - kRound);
  Vec p = broadcast(1.338130254e-3f);
  p = p * r + 9.666368515e-3f;
  p = p * r + 5.550381014e-2f;
  p = p * r + 2.402234904e-1f;
  p = p * r + 6.931471806e-1f;
  p = p * r + 1.0f;
  return reinterpret_cast<Vec>(reinterpret_cast<IntVec>(p) +
                               (reinterpret_cast<IntVec>(shifted) << 23));
}

/// 1 / x for x from 1 to 2^120; a division takes as long as half of a polynomial.
inline Vec reciprocal(Vec x) {
#if defined(__AVX512F__)
  const Vec guess =
      reinterpret_cast<Vec>(_mm512_maskz_rcp14_ps(0xffff, reinterpret_cast<__m512>(x)));
  return guess + guess * (1.0f - x * guess);
#else
  return 1.0f / x;
#endif
}

/// The error function: an odd polynomial up to 1, and 1 - erfc(x) through an exponential beyond.
inline Vec vec_erf(Vec x) {
  const IntVec sign = reinterpret_cast<IntVec>(x) & INT32_MIN;
  const Vec size = reinterpret_cast<Vec>(reinterpret_cast<IntVec>(x) ^ sign);
  const Vec square = size * size;
  Vec p = broadcast(7.853861353153693e-5f);
  p = p * square - 8.010193625184903e-4f;
  p = p * square + 5.188327685732524e-3f;
  p = p * square - 2.685381193529856e-2f;
  p = p * square + 1.128358514861418e-1f;
  p = p * square - 3.761262582423300e-1f;
  p = p * square + 1.128379165726710f;
  const Vec small = p * size;
  const Vec bounded = size > 9.0f ? broadcast(9.0f) : size;
  const Vec t = reciprocal(1.0f + 0.5f * bounded);
  Vec q = broadcast(0.17087277f);
  q = q * t - 0.82215223f;
  q = q * t + 1.48851587f;
  q = q * t - 1.13520398f;
  q = q * t + 0.27886807f;
  q = q * t - 0.18628806f;
  q = q * t + 0.09678418f;
  q = q * t + 0.37409196f;
  q = q * t + 1.00002368f;
  q = q * t - 1.26551223f;
  const Vec large = 1.0f - t * exp2_within((q - bounded * bounded) * 1.44269504f);
  const Vec result = size <= 1.0f ? small : large;
  return reinterpret_cast<Vec>(reinterpret_cast<IntVec>(x != x ? x : result) | sign);
}

inline Vec vec_sqrt(Vec x) {
  Vec result;
  for (int i = 0; i < kLanes; ++i) result[i] = __builtin_sqrtf(x[i]);
  return result;
}

// Gelu in the form with tanh, written with sigmoid: x s(u), u = a (x + c x^3). Beyond kGeluEdge it
// is 0 and x within a float's precision; the edge keeps infinities out of the products.
constexpr float kGeluSlope = 1.5957691216f;  // a = 2 sqrt(2 / pi)
constexpr float kGeluCubic = 0.044715f;      // c
constexpr float kGeluEdge = 9.0f;

/// s(u) for |x| <= kGeluEdge: there exp(-u) is within range, so nothing needs a choice.
inline Vec gelu_gate(Vec x, Vec square) {
  constexpr float kLog2E = 1.44269504f;
  constexpr float kLinear = -kGeluSlope * kLog2E;
  return reciprocal(1.0f + exp2_within(x * (square * (kLinear * kGeluCubic) + kLinear)));
}

inline Vec vec_gelu(Vec x) {
  const Vec above = x < -kGeluEdge ? broadcast(-kGeluEdge) : x;
  const Vec bounded = above > kGeluEdge ? broadcast(kGeluEdge) : above;
  return above * gelu_gate(bounded, bounded * bounded);
}

/// The derivative, s + x s (1 - s) a (1 + 3 c x^2).
inline Vec vec_gelu_slope(Vec x) {
  const Vec above = x < -kGeluEdge ? broadcast(-kGeluEdge) : x;
  const Vec bounded = above > kGeluEdge ? broadcast(kGeluEdge) : above;
  const Vec square = bounded * bounded;
  const Vec gate = gelu_gate(bounded, square);
  const Vec inner = square * (3.0f * kGeluSlope * kGeluCubic) + kGeluSlope;
  return gate + bounded * inner * (gate - gate * gate);
}

}  // namespace
}  // namespace syrtos::ops::native::SYRTOS_ISA
