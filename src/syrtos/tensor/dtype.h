#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

namespace syrtos {

/// Element types of tensors. s32 holds labels and indices, u8 masks and raw images.
enum class DType : uint8_t { f32, bf16, s32, u8 };

constexpr size_t size_of(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return 4;
    case DType::bf16:
      return 2;
    case DType::s32:
      return 4;
    case DType::u8:
      return 1;
  }
  return 0;
}

constexpr const char* to_string(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return "f32";
    case DType::bf16:
      return "bf16";
    case DType::s32:
      return "s32";
    case DType::u8:
      return "u8";
  }
  return "?";
}

/// bfloat16: the upper half of a float, rounded to nearest even.
struct BFloat16 {
  uint16_t bits = 0;

  BFloat16() = default;
  explicit BFloat16(float value) {
    const auto word = std::bit_cast<uint32_t>(value);
    if ((word & 0x7fffffffU) > 0x7f800000U) {
      bits = static_cast<uint16_t>((word >> 16) | 0x40U);  // a NaN stays a (quiet) NaN
    } else {
      bits = static_cast<uint16_t>((word + 0x7fffU + ((word >> 16) & 1U)) >> 16);
    }
  }
  explicit operator float() const { return std::bit_cast<float>(uint32_t{bits} << 16); }
};

}  // namespace syrtos
