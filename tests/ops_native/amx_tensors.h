#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <vector>

// Tensors of bf16 in memory that shows what is read although nobody wrote it.

namespace syrtos::ops::native {

struct Free {
  void operator()(void* p) const { std::free(p); }
};
using Bytes = std::unique_ptr<char, Free>;

inline Bytes aligned_bytes(size_t bytes) {
  const size_t rounded = (bytes + 128) / 64 * 64;
  Bytes buffer(static_cast<char*>(std::aligned_alloc(64, rounded)));
  std::memset(buffer.get(), 0xFF, rounded);  // NaN: whatever is read before it is written shows
  return buffer;
}

inline uint16_t to_bf16(float value) {
  uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  return static_cast<uint16_t>((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16);
}

inline float to_float(uint16_t half) {
  const uint32_t bits = uint32_t{half} << 16;
  float value = 0;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

struct Tensor16 {
  Bytes bytes;
  std::vector<float> values;
  uint16_t* data() { return reinterpret_cast<uint16_t*>(bytes.get()); }
};

// What lies behind the last element is NaN.
inline Tensor16 random_tensor(size_t n, uint32_t seed) {
  std::mt19937 random(seed);
  Tensor16 t{aligned_bytes(n * 2), std::vector<float>(n)};
  for (size_t i = 0; i < n; ++i) {
    t.values[i] = static_cast<float>(static_cast<int>(random() % 31) - 15) / 16.0F;
    t.data()[i] = to_bf16(t.values[i]);
  }
  return t;
}

inline void expect_close(const char* what, const std::vector<double>& expected,
                         const auto& value_at, double tolerance) {
  for (size_t i = 0; i < expected.size(); ++i) {
    const double found = value_at(i);
    ASSERT_LE(std::abs(found - expected[i]), tolerance * (1 + std::abs(expected[i])))
        << what << " at " << i << ": " << found << " instead of " << expected[i];
  }
}

}  // namespace syrtos::ops::native
