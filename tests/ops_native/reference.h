#pragma once

// Helpers of the tests of native kernels: tensors of either element type that naive references read
// as doubles, reproducible random values, and comparison with a tolerance for each type.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "syrtos/base/parallel.h"
#include "syrtos/tensor/dtype.h"

namespace syrtos::ops::native {

/// A tensor in memory aligned to 64 bytes, followed by a guard that no kernel may touch.
class TestTensor {
 public:
  TestTensor(DType dtype, int64_t size) : dtype_(dtype), size_(size) {
    const size_t bytes = (static_cast<size_t>(size) * size_of(dtype) + kGuard + 63) / 64 * 64;
    data_.reset(static_cast<uint8_t*>(std::aligned_alloc(64, bytes)));
    std::memset(data_.get(), 0xA5, bytes);
  }
  TestTensor(DType dtype, int64_t size, uint32_t seed, double mean = 0, double deviation = 1)
      : TestTensor(dtype, size) {
    // The sum of four uniform numbers is normal enough, and quick.
    uint64_t state = seed * 0x9E3779B97F4A7C15ULL + 1;
    for (int64_t i = 0; i < size; ++i) {
      state = state * 6364136223846793005ULL + 1442695040888963407ULL;
      const uint64_t word = (state ^ (state >> 29)) * 0xBF58476D1CE4E5B9ULL;
      double sum = -2;
      for (int k = 0; k < 4; ++k) sum += static_cast<double>(word >> (16 * k) & 0xFFFF) / 65536.0;
      set(i, mean + deviation * sum * 1.7320508);
    }
  }
  TestTensor(const TestTensor& other) : TestTensor(other.dtype_, other.size_) {
    std::memcpy(data_.get(), other.data_.get(), static_cast<size_t>(size_) * size_of(dtype_));
  }
  ~TestTensor() {
    for (size_t i = 0; i < kGuard; ++i) {
      EXPECT_EQ(data_[static_cast<size_t>(size_) * size_of(dtype_) + i], 0xA5) << "wrote past end";
    }
  }

  void set(int64_t i, double value) {
    if (dtype_ == DType::f32) {
      f32()[i] = static_cast<float>(value);
    } else {
      reinterpret_cast<BFloat16*>(data_.get())[i] = BFloat16(static_cast<float>(value));
    }
  }
  double operator[](int64_t i) const {
    if (dtype_ == DType::f32) return reinterpret_cast<const float*>(data_.get())[i];
    return static_cast<float>(reinterpret_cast<const BFloat16*>(data_.get())[i]);
  }
  void* data() { return data_.get(); }
  float* f32() { return reinterpret_cast<float*>(data_.get()); }
  int32_t* s32() { return reinterpret_cast<int32_t*>(data_.get()); }
  int64_t size() const { return size_; }
  DType dtype() const { return dtype_; }
  bool same_bits(const TestTensor& other) const {
    return std::memcmp(data_.get(), other.data_.get(),
                       static_cast<size_t>(size_) * size_of(dtype_)) == 0;
  }

 private:
  struct Free {
    void operator()(uint8_t* p) const { std::free(p); }
  };
  static constexpr size_t kGuard = 64;
  DType dtype_;
  int64_t size_;
  std::unique_ptr<uint8_t[], Free> data_;
};

/// Scratch memory of the given size.
inline TestTensor scratch_of(int64_t bytes) { return TestTensor(DType::u8, bytes); }

/// |found - expected| <= tolerance * max(|expected|, scale) for each element; bf16 results get the
/// rounding of their type on top.
inline void expect_near(const TestTensor& found, const std::vector<double>& expected,
                        double tolerance, double scale = 1) {
  ASSERT_EQ(found.size(), static_cast<int64_t>(expected.size()));
  const double rounding = found.dtype() == DType::bf16 ? 1.0 / 256 : 0;
  for (int64_t i = 0; i < found.size(); ++i) {
    const double value = expected[static_cast<size_t>(i)];
    if (std::isnan(value)) {
      ASSERT_TRUE(std::isnan(found[i])) << "element " << i << ": expected NaN, found " << found[i];
      continue;
    }
    const double allowed =
        tolerance * std::max(std::abs(value), scale) + rounding * std::abs(value);
    ASSERT_NEAR(found[i], value, allowed) << "element " << i << " of " << found.size();
  }
}

/// Element type and thread count, for parametrised tests.
struct Case {
  DType dtype;
  int threads;
};
inline std::string name_of(const testing::TestParamInfo<Case>& info) {
  return std::string(to_string(info.param.dtype)) + "_threads" + std::to_string(info.param.threads);
}
class NativeTest : public testing::TestWithParam<Case> {
 protected:
  DType dtype() const { return GetParam().dtype; }

 private:
  const ThreadScope threads_{GetParam().threads};
};
inline auto all_cases() {
  return testing::Values(Case{DType::f32, 1}, Case{DType::f32, 2}, Case{DType::bf16, 1},
                         Case{DType::bf16, 2}, Case{DType::f32, 3});
}

}  // namespace syrtos::ops::native
