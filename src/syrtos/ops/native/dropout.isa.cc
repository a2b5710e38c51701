#include "syrtos/ops/native/dropout_kernels.h"

#include "syrtos/ops/native/element.h"

namespace syrtos::ops::native::SYRTOS_ISA {
namespace {

typedef uint64_t WideVec __attribute__((vector_size(kLanes * 4)));  // kLanes / 2 words of 64 bits

struct Product {
  UIntVec high, low;
};

/// The products of the even 32-bit lanes (the lower halves of words) of a and b. The compiler does
/// not see that one instruction is enough.
[[gnu::always_inline]] inline WideVec multiply_even(WideVec a, WideVec b) {
#if defined(__AVX512F__)
  return reinterpret_cast<WideVec>(
      _mm512_maskz_mul_epu32(0xff, reinterpret_cast<__m512i>(a), reinterpret_cast<__m512i>(b)));
#elif defined(__AVX2__)
  return reinterpret_cast<WideVec>(
      _mm256_mul_epu32(reinterpret_cast<__m256i>(a), reinterpret_cast<__m256i>(b)));
#elif defined(__SSE2__)
  return reinterpret_cast<WideVec>(
      _mm_mul_epu32(reinterpret_cast<__m128i>(a), reinterpret_cast<__m128i>(b)));
#else
  return (a & 0xffffffffu) * (b & 0xffffffffu);
#endif
}

/// The 64-bit products of a constant and the 32-bit lanes of x.
[[gnu::always_inline]] inline Product multiply(uint32_t constant, UIntVec x) {
  const WideVec factor = WideVec{} + uint64_t{constant};
  const WideVec upper = WideVec{} + 0xffffffff00000000u;
  const WideVec wide = reinterpret_cast<WideVec>(x);
  const WideVec even = multiply_even(wide, factor);
  const WideVec odd = multiply_even(wide >> 32, factor);
  return {reinterpret_cast<UIntVec>((even >> 32) | (odd & upper)),
          reinterpret_cast<UIntVec>((even & ~upper) | (odd << 32))};
}

struct Words {
  UIntVec word[4];
};

/// Philox-4x32-10, as in syrtos/base/philox.h, for kLanes counters.
[[gnu::always_inline]] inline Words philox(const DropoutPart& part, UIntVec counter) {
  UIntVec c0 = counter;
  UIntVec c1 = UIntVec{} + part.sample;
  UIntVec c2 = UIntVec{} + part.step;
  UIntVec c3 = UIntVec{} + part.layer;
  uint32_t key0 = part.key[0];
  uint32_t key1 = part.key[1];
#pragma GCC unroll 10
  for (int round = 0; round < 10; ++round) {
    const Product p0 = multiply(0xD2511F53u, c0);
    const Product p1 = multiply(0xCD9E8D57u, c2);
    c0 = p1.high ^ c1 ^ key0;
    c1 = p1.low;
    c2 = p0.high ^ c3 ^ key1;
    c3 = p0.low;
    key0 += 0x9E3779B9u;
    key1 += 0xBB67AE85u;
  }
  return {{c0, c1, c2, c3}};
}

template <typename T>
void apply(const DropoutPart& part, const void* src, void* dst) {
  constexpr int kCounters = 16;  // per group of 64 elements
  const T* from = static_cast<const T*>(src);
  T* to = static_cast<T*>(dst);
  UIntVec lane{};
  for (int i = 0; i < kLanes; ++i) lane[i] = static_cast<uint32_t>(i);
  for (int64_t first = part.begin; first < part.end; first += kDropoutGroup) {
    const auto base = static_cast<uint32_t>(first / kDropoutGroup * kCounters);
    for (int part_of_group = 0; part_of_group < kCounters; part_of_group += kLanes) {
      const Words words = philox(part, lane + (base + static_cast<uint32_t>(part_of_group)));
#pragma GCC unroll 4
      for (int w = 0; w < 4; ++w) {
        const int64_t i = first + w * kCounters + part_of_group;
        const IntVec kept = words.word[w] >= part.threshold;
        const auto masked = [&](Vec x) { return kept ? x * part.factor : Vec{}; };
        if (i + kLanes <= part.end) {
          store(to + i, masked(load(from + i)));
        } else if (i < part.end) {
          const int rest = static_cast<int>(part.end - i);
          store(to + i, masked(load(from + i, rest)), rest);
        }
      }
    }
  }
}

}  // namespace

const DropoutKernels dropout_kernels = {{apply<float>, apply<Bf16>}};

}  // namespace syrtos::ops::native::SYRTOS_ISA
