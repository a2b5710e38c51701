#include "syrtos/ops/native/gather.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "syrtos/base/parallel.h"

namespace syrtos::ops::native {
namespace {

constexpr int64_t kSerialBelow = 16 << 10;  // elements that are not worth waking threads

int64_t row_of(const GatherShape& shape, int32_t index) {
  return index < 0 ? index + shape.rows : index;
}

// Each thread adds up its own columns, in the order of the indices.
template <typename T>
void add_columns(const GatherShape& shape, const int32_t* indices, const T* diff_dst,
                 float* diff_src, int64_t begin, int64_t end) {
  for (int64_t o = 0; o < shape.outer; ++o) {
    float* rows = diff_src + o * shape.rows * shape.inner;
    for (int64_t row = 0; row < shape.rows; ++row) {
      std::fill(rows + row * shape.inner + begin, rows + row * shape.inner + end, 0.0F);
    }
    for (int64_t i = 0; i < shape.count; ++i) {
      float* to = rows + row_of(shape, indices[i]) * shape.inner;
      const T* from = diff_dst + (o * shape.count + i) * shape.inner;
      for (int64_t k = begin; k < end; ++k) to[k] += static_cast<float>(from[k]);
    }
  }
}

}  // namespace

int64_t find_bad_index(const GatherShape& shape, const int32_t* indices) {
  for (int64_t i = 0; i < shape.count; ++i) {
    if (indices[i] < -shape.rows || indices[i] >= shape.rows) return i;
  }
  return -1;
}

void to_indices(DType dtype, int64_t count, const void* src, int32_t* dst) {
  constexpr float kMost = 2147483520.0F;  // the last float below 2^31
  parallel_for(count, 16, kSerialBelow, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const float value = dtype == DType::f32
                              ? static_cast<const float*>(src)[i]
                              : static_cast<float>(static_cast<const BFloat16*>(src)[i]);
      const bool fits = value >= -kMost && value <= kMost;  // not of NaN
      dst[i] = fits ? static_cast<int32_t>(std::nearbyint(value)) : INT32_MIN;
    }
  });
}

void gather(const GatherShape& shape, DType dtype, const void* src, const int32_t* indices,
            void* dst) {
  const int64_t bytes = shape.inner * static_cast<int64_t>(size_of(dtype));
  const int64_t alone = kSerialBelow / std::max<int64_t>(1, shape.inner) + 1;
  parallel_for(shape.outer * shape.count, 1, alone, [&](int64_t begin, int64_t end) {
    for (int64_t item = begin; item < end; ++item) {
      const int64_t row =
          item / shape.count * shape.rows + row_of(shape, indices[item % shape.count]);
      std::memcpy(static_cast<char*>(dst) + item * bytes,
                  static_cast<const char*>(src) + row * bytes, static_cast<size_t>(bytes));
    }
  });
}

void gather_backward(const GatherShape& shape, DType dtype, const int32_t* indices,
                     const void* diff_dst, float* diff_src) {
  const int64_t work = shape.outer * (shape.rows + shape.count);
  const int64_t alone = kSerialBelow / std::max<int64_t>(1, work) + 1;
  parallel_for(shape.inner, 16, alone, [&](int64_t begin, int64_t end) {
    if (dtype == DType::bf16) {
      add_columns(shape, indices, static_cast<const BFloat16*>(diff_dst), diff_src, begin, end);
    } else {
      add_columns(shape, indices, static_cast<const float*>(diff_dst), diff_src, begin, end);
    }
  });
}

}  // namespace syrtos::ops::native
