#include "syrtos/collective/bf16_kernels.h"

// Plain loops that the compiler turns into vectors.

namespace syrtos::collective::SYRTOS_ISA {
namespace {

/// The upper half of its f32.
[[gnu::always_inline]] inline uint32_t rounded(float value) {
  const auto bits = __builtin_bit_cast(uint32_t, value);
  const uint32_t nearest = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
  const uint32_t quiet = bits >> 16 | 0x40;
  return (bits & 0x7fffffff) > 0x7f800000 ? quiet : nearest;
}

void round_to(const float* __restrict from, uint16_t* __restrict to, size_t count) {
  for (size_t i = 0; i < count; ++i) to[i] = static_cast<uint16_t>(rounded(from[i]));
}

void round_in_place(float* values, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    values[i] = __builtin_bit_cast(float, rounded(values[i]) << 16);
  }
}

}  // namespace

extern const Bf16Kernels kBf16Kernels;
const Bf16Kernels kBf16Kernels = {round_to, round_in_place};

}  // namespace syrtos::collective::SYRTOS_ISA
