#include "syrtos/ops/native/element.h"
#include "syrtos/ops/native/reduce_axes_kernels.h"

namespace syrtos::ops::native::SYRTOS_ISA {
namespace {

// Floats within a block, doubles across blocks.
template <typename T>
double sum_row(int64_t n, const void* src) {
  constexpr int64_t kBlock = 64 * kLanes;
  const T* p = static_cast<const T*>(src);
  double total = 0;
  for (int64_t begin = 0; begin < n; begin += kBlock) {
    const int64_t end = begin + kBlock < n ? begin + kBlock : n;
    Vec sum[4] = {};
    int64_t i = begin;
    for (; i + 4 * kLanes <= end; i += 4 * kLanes) {
#pragma GCC unroll 4
      for (int v = 0; v < 4; ++v) sum[v] += load(p + i + v * kLanes);
    }
    for (; i + kLanes <= end; i += kLanes) sum[0] += load(p + i);
    if (i < end) sum[1] += load(p + i, static_cast<int>(end - i));
    total += static_cast<double>(horizontal_sum((sum[0] + sum[1]) + (sum[2] + sum[3])));
  }
  return total;
}

template <typename T>
double max_row(int64_t n, const void* src) {
  const T* p = static_cast<const T*>(src);
  Vec top = broadcast(-__builtin_inff());
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) top = vec_max(load(p + i), top);
  if (i < n) {
    top = vec_max(load_or(p + i, static_cast<int>(n - i), -__builtin_inff()), top);
  }
  return static_cast<double>(horizontal_max(top));
}

template <typename T, bool kMax>
void join_to(int64_t n, const void* src, float* total) {
  const auto join = [](Vec a, Vec b) { return kMax ? vec_max(a, b) : a + b; };
  const T* p = static_cast<const T*>(src);
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) store(total + i, join(load(p + i), load(total + i)));
  if (i < n) {
    const int rest = static_cast<int>(n - i);
    store(total + i, join(load(p + i, rest), load(total + i, rest)), rest);
  }
}

template <typename T>
void scale(int64_t n, const float* src, float factor, void* dst) {
  T* p = static_cast<T*>(dst);
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) store(p + i, load(src + i) * factor);
  if (i < n) {
    const int rest = static_cast<int>(n - i);
    store(p + i, load(src + i, rest) * factor, rest);
  }
}

}  // namespace

const ReduceAxesKernels reduce_axes_kernels = {
    {sum_row<float>, sum_row<Bf16>},
    {max_row<float>, max_row<Bf16>},
    {join_to<float, false>, join_to<Bf16, false>},
    {join_to<float, true>, join_to<Bf16, true>},
    {scale<float>, scale<Bf16>},
};

}  // namespace syrtos::ops::native::SYRTOS_ISA
