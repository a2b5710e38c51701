#include "syrtos/ops/native/dense_kernels.h"
#include "syrtos/ops/native/element.h"

namespace syrtos::ops::native::SYRTOS_ISA {
namespace {

// Sums of as many rows as the registers hold beside one row of src.
constexpr int kRowsAtOnce = kLanes == 16 ? kDenseRows : 2;

[[gnu::always_inline]] inline void put_vector(float* to, Vec value, Put put) {
#if defined(__AVX512F__)
  if (put == Put::stream) {
    _mm512_stream_ps(to, reinterpret_cast<__m512>(value));
    return;
  }
#endif
  if (put == Put::add) {
    Vec before;
    __builtin_memcpy(&before, to, sizeof before);
    value += before;
  }
  __builtin_memcpy(to, &value, sizeof value);
}

// One that costs a load alone: the port that broadcasts registers is needed for the sums.
[[gnu::always_inline]] inline Vec everywhere(const float* value) {
#if defined(__AVX512F__)
  return reinterpret_cast<Vec>(_mm512_set1_ps(*value));
#else
  return broadcast(*value);
#endif
}

template <int vectors>
void tile(const float* src, const float* diff_dst, int64_t batch, int first, int rows,
          float* result, int64_t pitch, Put put) {
  Vec sums[kRowsAtOnce][vectors] = {};
  for (int64_t n = 0; n < batch; ++n) {
    Vec x[vectors];
    for (int v = 0; v < vectors; ++v) {
      __builtin_memcpy(&x[v], src + n * kDenseColumns + v * kLanes, sizeof(Vec));
    }
    for (int r = 0; r < kRowsAtOnce; ++r) {
      const Vec y = everywhere(diff_dst + n * kDenseRows + first + r);
      for (int v = 0; v < vectors; ++v) sums[r][v] += x[v] * y;
    }
  }
  for (int r = 0; r < kRowsAtOnce && first + r < rows; ++r) {
    for (int v = 0; v < vectors; ++v) {
      put_vector(result + (first + r) * pitch + v * kLanes, sums[r][v], put);
    }
  }
}

void rows(const float* src, const float* diff_dst, int64_t batch, int64_t begin, int64_t end,
          int rows, float* result, int64_t pitch, Put put) {
  const bool aligned = reinterpret_cast<uintptr_t>(result) % 64 == 0 && pitch % 16 == 0;
  if (put == Put::stream && !aligned) put = Put::store;
  constexpr int kWhole = kDenseColumns / 16;  // units of 16 columns
  constexpr int kPerUnit = 16 / kLanes;
  for (int64_t column = begin; column < end; column += kDenseColumns) {
    const float* panel = src + column * batch;
    const int64_t units = (end - column) / 16 < kWhole ? (end - column) / 16 : kWhole;
    for (int first = 0; first < rows; first += kRowsAtOnce) {
      float* to = result + column;
      if (units == kWhole && kLanes == 16) {
        tile<kWhole>(panel, diff_dst, batch, first, rows, to, pitch, put);
        continue;
      }
      for (int64_t unit = 0; unit < units; ++unit) {
        tile<kPerUnit>(panel + unit * 16, diff_dst, batch, first, rows, to + unit * 16, pitch, put);
      }
    }
  }
}

void forward(const float* weights, int64_t pitch, int rows, const float* panel, int64_t in,
             float* result) {
  constexpr int kVectors = kDenseColumns / kLanes;
  const float* row[kDenseRows];
  for (int r = 0; r < kDenseRows; ++r) row[r] = weights + (r < rows ? r : 0) * pitch;
  for (int first = 0; first < kDenseRows; first += kRowsAtOnce) {
    Vec sums[kRowsAtOnce][kVectors] = {};
    for (int64_t i = 0; i < in; ++i) {
      Vec x[kVectors];
      for (int v = 0; v < kVectors; ++v) {
        __builtin_memcpy(&x[v], panel + i * kDenseColumns + v * kLanes, sizeof(Vec));
      }
      for (int r = 0; r < kRowsAtOnce; ++r) {
        const Vec w = everywhere(row[first + r] + i);
        for (int v = 0; v < kVectors; ++v) sums[r][v] += x[v] * w;
      }
    }
    __builtin_memcpy(result + first * kDenseColumns, sums, sizeof sums);
  }
}

}  // namespace

extern const DenseKernels dense_kernels;
const DenseKernels dense_kernels = {rows, forward};

}  // namespace syrtos::ops::native::SYRTOS_ISA
