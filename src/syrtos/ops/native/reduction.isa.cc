#include "syrtos/ops/native/reduction_kernels.h"

#include "syrtos/ops/native/element.h"

namespace syrtos::ops::native::SYRTOS_ISA {
namespace {

template <typename T>
void column_sums(int64_t stride, int64_t row_begin, int64_t row_end, int64_t channel_begin,
                 int64_t channel_end, const void* src, double* sum) {
  for (int64_t c = channel_begin; c < channel_end; ++c) sum[c] = 0;
  // Floats within a group of rows, doubles across groups.
  const int64_t group = channel_end - channel_begin <= 4 * kLanes ? 64 : 16;
  for (int64_t first = row_begin; first < row_end; first += group) {
    const int64_t end = first + group < row_end ? first + group : row_end;
    for_each_tile(
        channel_begin, channel_end, [&](auto tile) __attribute__((always_inline)) {
          constexpr int kVectors = decltype(tile)::kVectors;
          Vec total[kVectors] = {};
          for (int64_t r = first; r < end; ++r) {
#pragma GCC unroll 4
            for (int v = 0; v < kVectors; ++v) {
              total[v] += tile.get(static_cast<const T*>(src) + r * stride, v);
            }
          }
          for (int v = 0; v < kVectors; ++v) tile.accumulate(sum, v, total[v]);
        });
  }
}

// Squares are doubles, so that large gradients do not overflow before they are clipped.
template <typename T>
double sum_of_squares(int64_t n, const void* src) {
  struct Halves {
    HalfFloatVec low, high;
  };
  DoubleVec sum[2] = {};
  const auto add = [&](Vec v) __attribute__((always_inline)) {
    Halves halves;
    __builtin_memcpy(&halves, &v, sizeof v);
    const DoubleVec low = __builtin_convertvector(halves.low, DoubleVec);
    const DoubleVec high = __builtin_convertvector(halves.high, DoubleVec);
    sum[0] += low * low;
    sum[1] += high * high;
  };
  const T* p = static_cast<const T*>(src);
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) add(load(p + i));
  if (i < n) add(load(p + i, static_cast<int>(n - i)));
  double result = 0;
  for (int lane = 0; lane < kLanes / 2; ++lane) result += sum[0][lane] + sum[1][lane];
  return result;
}

}  // namespace

const ReductionKernels reduction_kernels = {
    {column_sums<float>, column_sums<Bf16>},
    {sum_of_squares<float>, sum_of_squares<Bf16>},
};

}  // namespace syrtos::ops::native::SYRTOS_ISA
