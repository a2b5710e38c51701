#include "syrtos/optim/sweep.h"

#if defined(__AVX512BF16__)
#include <immintrin.h>
#endif

// Plain loops that the compiler turns into vectors: the work is bound by memory, and a scalar tail
// computes the same bits as a vector lane, so results do not depend on where a stretch begins.

namespace syrtos::optim::SYRTOS_ISA {
namespace {

void sgd(const Sweep& s) {
  float* __restrict w = s.weights;
  const float* __restrict grad = s.gradients;
  const Sweep c = s;
  for (int64_t i = 0; i < c.n; ++i) {
    const float g = grad[i] * c.gradient_scale + c.decay * w[i];
    w[i] = w[i] - c.rate * g;
  }
}

// m = momentum m + g;  w -= rate m
void momentum(const Sweep& s) {
  float* __restrict w = s.weights;
  float* __restrict m = s.slot0;
  const float* __restrict grad = s.gradients;
  const Sweep c = s;
  for (int64_t i = 0; i < c.n; ++i) {
    const float g = grad[i] * c.gradient_scale + c.decay * w[i];
    const float moved = c.a * m[i] + g;
    m[i] = moved;
    w[i] = w[i] - c.rate * moved;
  }
}

// m = momentum m + g;  w -= rate (g + momentum m)
void nesterov(const Sweep& s) {
  float* __restrict w = s.weights;
  float* __restrict m = s.slot0;
  const float* __restrict grad = s.gradients;
  const Sweep c = s;
  for (int64_t i = 0; i < c.n; ++i) {
    const float g = grad[i] * c.gradient_scale + c.decay * w[i];
    const float moved = c.a * m[i] + g;
    m[i] = moved;
    w[i] = w[i] - c.rate * (g + c.a * moved);
  }
}

// m = beta1 m + (1 - beta1) g;  v = beta2 v + (1 - beta2) g g
// w -= rate / (1 - beta1^t) m / (sqrt(v) / sqrt(1 - beta2^t) + epsilon)
void adam(const Sweep& s) {
  float* __restrict w = s.weights;
  float* __restrict m = s.slot0;
  float* __restrict v = s.slot1;
  const float* __restrict grad = s.gradients;
  const Sweep c = s;
  for (int64_t i = 0; i < c.n; ++i) {
    const float g = grad[i] * c.gradient_scale + c.decay * w[i];
    const float first = c.a * m[i] + (1.0f - c.a) * g;
    const float second = c.b * v[i] + (1.0f - c.b) * (g * g);
    m[i] = first;
    v[i] = second;
    w[i] = c.shrink * w[i] - c.rate * first / (__builtin_sqrtf(second) * c.root + c.epsilon);
  }
}

// v += g g;  w -= rate g / (sqrt(v) + epsilon)
void adagrad(const Sweep& s) {
  float* __restrict w = s.weights;
  float* __restrict v = s.slot0;
  const float* __restrict grad = s.gradients;
  const Sweep c = s;
  for (int64_t i = 0; i < c.n; ++i) {
    const float g = grad[i] * c.gradient_scale + c.decay * w[i];
    const float sum = v[i] + g * g;
    v[i] = sum;
    w[i] = w[i] - c.rate * g / (__builtin_sqrtf(sum) + c.epsilon);
  }
}

// v = rho v + (1 - rho) g g;  d = sqrt(u + epsilon) / sqrt(v + epsilon) g
// u = rho u + (1 - rho) d d;  w -= rate d
void adadelta(const Sweep& s) {
  float* __restrict w = s.weights;
  float* __restrict v = s.slot0;
  float* __restrict u = s.slot1;
  const float* __restrict grad = s.gradients;
  const Sweep c = s;
  for (int64_t i = 0; i < c.n; ++i) {
    const float g = grad[i] * c.gradient_scale + c.decay * w[i];
    const float squares = c.a * v[i] + (1.0f - c.a) * (g * g);
    const float delta =
        __builtin_sqrtf(u[i] + c.epsilon) / __builtin_sqrtf(squares + c.epsilon) * g;
    v[i] = squares;
    u[i] = c.a * u[i] + (1.0f - c.a) * (delta * delta);
    w[i] = w[i] - c.rate * delta;
  }
}

void look_ahead(float* __restrict fast, float* __restrict slow, float part, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    const float moved = slow[i] + part * (fast[i] - slow[i]);
    slow[i] = moved;
    fast[i] = moved;
  }
}

// To nearest even; a NaN stays one.
[[maybe_unused]] inline uint16_t round_one(float value) {
  uint32_t bits;
  __builtin_memcpy(&bits, &value, sizeof bits);
  const uint32_t rounded = (bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16;
  const uint32_t quiet = (bits >> 16) | 0x40U;
  return static_cast<uint16_t>((bits & 0x7fffffffU) > 0x7f800000U ? quiet : rounded);
}

void round(const float* __restrict from, uint16_t* __restrict to, int64_t n,
           [[maybe_unused]] bool stream) {
  int64_t i = 0;
#if defined(__AVX512BF16__)
  // The same but for subnormals, which this instruction makes zero.
  const bool streams = stream && reinterpret_cast<uintptr_t>(to) % 64 == 0;
  for (; i + 32 <= n; i += 32) {
    const __m512bh pair =
        _mm512_cvtne2ps_pbh(_mm512_loadu_ps(from + i + 16), _mm512_loadu_ps(from + i));
    if (streams) {
      _mm512_stream_si512(reinterpret_cast<__m512i*>(to + i), reinterpret_cast<__m512i>(pair));
    } else {
      _mm512_storeu_si512(to + i, reinterpret_cast<__m512i>(pair));
    }
  }
  if (streams) _mm_sfence();
  for (; i < n; i += 16) {
    const int64_t left = n - i;
    const auto mask = static_cast<__mmask16>(left >= 16 ? 0xffff : (1 << left) - 1);
    const __m256bh half = _mm512_cvtneps_pbh(_mm512_maskz_loadu_ps(mask, from + i));
    _mm256_mask_storeu_epi16(to + i, mask, reinterpret_cast<__m256i>(half));
  }
#endif
  for (; i < n; ++i) to[i] = round_one(from[i]);
}

double sum_of_squares(const float* values, int64_t n) {
  constexpr int kLanes = 32;
  double lanes[kLanes] = {};
  const int64_t whole = n / kLanes * kLanes;
  for (int64_t i = 0; i < whole; i += kLanes) {
    for (int l = 0; l < kLanes; ++l) {
      const double value = values[i + l];
      lanes[l] += value * value;
    }
  }
  double sum = 0;
  for (int64_t i = whole; i < n; ++i) sum += static_cast<double>(values[i]) * values[i];
  for (int l = 0; l < kLanes; ++l) sum += lanes[l];
  return sum;
}

}  // namespace

extern const SweepKernels kKernels;
const SweepKernels kKernels = {sgd,      momentum,   nesterov, adam,          adagrad,
                               adadelta, look_ahead, round,    sum_of_squares};

}  // namespace syrtos::optim::SYRTOS_ISA
