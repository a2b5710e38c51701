#include "syrtos/ops/native/axis_map_kernels.h"
#include "syrtos/ops/native/element.h"

namespace syrtos::ops::native::SYRTOS_ISA {
namespace {

inline float as_float(float x) { return x; }
inline float as_float(Bf16 x) {
  const uint32_t bits = uint32_t{x.bits} << 16;
  float result;
  __builtin_memcpy(&result, &bits, sizeof result);
  return result;
}

/// Elements beside each other along the axis itself.
template <typename T>
void run_elements(const AxisMapProblem& p, int64_t begin, int64_t end, const T* src, T* dst) {
  for (int64_t row = begin; row < end; ++row) {
    const int32_t first = p.first[row];
    const int32_t last = p.first[row + 1];
    if (last == first + 1 && p.weight[first] == 1.0f) {
      dst[row] = src[p.index[first]];
      continue;
    }
    float sum = 0;
    for (int32_t k = first; k < last; ++k) sum += p.weight[k] * as_float(src[p.index[k]]);
    store(dst + row, broadcast(sum), 1);
  }
}

template <typename T>
void run(const AxisMapProblem& p, int64_t begin, int64_t end, const void* from, void* to) {
  const T* src = static_cast<const T*>(from);
  T* dst = static_cast<T*>(to);
  if (p.inner == 1) {
    run_elements(p, begin, end, src, dst);
    return;
  }
  for (int64_t row = begin; row < end; ++row) {
    const int32_t first = p.first[row];
    const int32_t last = p.first[row + 1];
    T* out = dst + row * p.inner;
    if (last == first + 1 && p.weight[first] == 1.0f) {
      __builtin_memcpy(out, src + p.index[first] * p.inner,
                       static_cast<unsigned long>(p.inner) * sizeof(T));
      continue;
    }
    for_each_tile(
        0, p.inner, [&](auto tile) __attribute__((always_inline)) {
          constexpr int kVectors = decltype(tile)::kVectors;
          Vec sum[kVectors] = {};
          for (int32_t k = first; k < last; ++k) {
            const T* line = src + p.index[k] * p.inner;
#pragma GCC unroll 4
            for (int v = 0; v < kVectors; ++v) sum[v] += tile.get(line, v) * p.weight[k];
          }
          for (int v = 0; v < kVectors; ++v) tile.put(out, v, sum[v]);
        });
  }
}

}  // namespace

const AxisMapKernels axis_map_kernels = {{run<float>, run<Bf16>}};

}  // namespace syrtos::ops::native::SYRTOS_ISA
