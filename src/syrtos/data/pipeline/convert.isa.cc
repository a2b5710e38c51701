#include <bit>

#include "syrtos/data/pipeline/convert.h"

// Plain loops that the compiler turns into vectors.

namespace syrtos::data::SYRTOS_ISA {
namespace {

void to_f32(const uint8_t* __restrict from, const float* __restrict scale,
            const float* __restrict offset, int64_t rows, int64_t row, float* __restrict to) {
  for (int64_t y = 0; y < rows; ++y, from += row, to += row) {
    for (int64_t i = 0; i < row; ++i) to[i] = static_cast<float>(from[i]) * scale[i] + offset[i];
  }
}

void to_bf16(const uint8_t* __restrict from, const float* __restrict scale,
             const float* __restrict offset, int64_t rows, int64_t row, uint16_t* __restrict to) {
  for (int64_t y = 0; y < rows; ++y, from += row, to += row) {
    for (int64_t i = 0; i < row; ++i) {
      // To the nearest, ties to even; there are no NaNs here.
      const auto word = std::bit_cast<uint32_t>(static_cast<float>(from[i]) * scale[i] + offset[i]);
      to[i] = static_cast<uint16_t>((word + 0x7fffU + ((word >> 16) & 1U)) >> 16);
    }
  }
}

}  // namespace

extern const ConvertKernels kConvertKernels;
const ConvertKernels kConvertKernels = {to_f32, to_bf16};

}  // namespace syrtos::data::SYRTOS_ISA
