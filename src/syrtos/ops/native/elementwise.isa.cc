#include "syrtos/ops/native/elementwise_kernels.h"
#include "syrtos/ops/native/vector_math.h"

namespace syrtos::ops::native::SYRTOS_ISA {
namespace {

/// Calls at(i, load, store) for whole vectors and then for the rest, where load(p) and store(p, v)
/// access the vector at p[i].
template <typename At>
[[gnu::always_inline]] inline void for_each_vector(int64_t n, At&& at) {
  const auto get = [](const auto* p) __attribute__((always_inline)) { return load(p); };
  const auto put = [](auto* p, Vec v) __attribute__((always_inline)) { store(p, v); };
  int64_t i = 0;
  for (; i + 4 * kLanes <= n; i += 4 * kLanes) {
    at(i, get, put);
    at(i + kLanes, get, put);
    at(i + 2 * kLanes, get, put);
    at(i + 3 * kLanes, get, put);
  }
  for (; i + kLanes <= n; i += kLanes) at(i, get, put);
  if (i < n) {
    const int rest = static_cast<int>(n - i);
    at(
        i, [rest](const auto* p) { return load(p, rest); },
        [rest](auto* p, Vec v) { store(p, v, rest); });
  }
}

struct Relu {
  static Vec apply(Vec x) { return relu(x); }
};
struct Sigmoid {
  static Vec apply(Vec x) { return vec_sigmoid(x); }
};
struct Tanh {
  static Vec apply(Vec x) { return vec_tanh(x); }
};
struct Gelu {
  static Vec apply(Vec x) { return vec_gelu(x); }
};
struct Copy {
  static Vec apply(Vec x) { return x; }
};

struct Add {
  static Vec apply(Vec a, Vec b) { return a + b; }
};
struct AddRelu {
  static Vec apply(Vec a, Vec b) { return relu(a + b); }
};
struct Multiply {
  static Vec apply(Vec a, Vec b) { return a * b; }
};
struct ReluBackward {
  static Vec apply(Vec y, Vec diff) { return relu_mask(y, diff); }
};
struct SigmoidBackward {
  static Vec apply(Vec y, Vec diff) { return diff * (y * (1.0f - y)); }
};
struct TanhBackward {
  static Vec apply(Vec y, Vec diff) { return diff * (1.0f - y * y); }
};

struct GeluBackward {
  static Vec apply(Vec x, Vec diff) { return diff * vec_gelu_slope(x); }
};

template <typename Function, typename From, typename To>
void unary(int64_t n, const void* src, void* dst) {
  for_each_vector(
      n, [&](int64_t i, auto get, auto put) __attribute__((always_inline)) {
        put(static_cast<To*>(dst) + i, Function::apply(get(static_cast<const From*>(src) + i)));
      });
}

template <typename Function, typename T>
void binary(int64_t n, const void* a, const void* b, void* dst) {
  for_each_vector(
      n, [&](int64_t i, auto get, auto put) __attribute__((always_inline)) {
        put(static_cast<T*>(dst) + i,
            Function::apply(get(static_cast<const T*>(a) + i), get(static_cast<const T*>(b) + i)));
      });
}

template <typename T>
void scale(int64_t n, const void* src, float factor, void* dst) {
  for_each_vector(
      n, [&](int64_t i, auto get, auto put) __attribute__((always_inline)) {
        put(static_cast<T*>(dst) + i, get(static_cast<const T*>(src) + i) * factor);
      });
}

template <typename T>
void fill(int64_t n, float value, void* dst) {
  for_each_vector(
      n, [&](int64_t i, auto, auto put)
             __attribute__((always_inline)) { put(static_cast<T*>(dst) + i, broadcast(value)); });
}

template <typename T>
void add_n(int64_t begin, int64_t end, int count, const void* const* src, void* dst) {
  for_each_vector(
      end - begin, [&](int64_t i, auto get, auto put) __attribute__((always_inline)) {
        Vec sum = get(static_cast<const T*>(src[0]) + begin + i);
        for (int k = 1; k < count; ++k) sum += get(static_cast<const T*>(src[k]) + begin + i);
        put(static_cast<T*>(dst) + begin + i, sum);
      });
}

template <typename T, bool kRelu>
void bias_add_rows(int64_t rows, int64_t channels, const void* src, const float* bias, void* dst) {
  constexpr int64_t kGroup = 16;  // rows per tile: the bias stays in registers for a while
  for (int64_t first = 0; first < rows; first += kGroup) {
    const int64_t end = first + kGroup < rows ? first + kGroup : rows;
    for_each_tile(
        0, channels, [&](auto tile) __attribute__((always_inline)) {
          constexpr int kVectors = decltype(tile)::kVectors;
          Vec offset[kVectors];
          for (int v = 0; v < kVectors; ++v) offset[v] = tile.get(bias, v);
          for (int64_t r = first; r < end; ++r) {
#pragma GCC unroll 4
            for (int v = 0; v < kVectors; ++v) {
              const Vec sum = tile.get(static_cast<const T*>(src) + r * channels, v) + offset[v];
              tile.put(static_cast<T*>(dst) + r * channels, v, kRelu ? relu(sum) : sum);
            }
          }
        });
  }
}

template <typename T>
void bias_add(int64_t rows, int64_t channels, const void* src, const float* bias, bool relu,
              void* dst) {
  relu ? bias_add_rows<T, true>(rows, channels, src, bias, dst)
       : bias_add_rows<T, false>(rows, channels, src, bias, dst);
}

}  // namespace

const ElementwiseKernels elementwise_kernels = {
    {{unary<Relu, float, float>, unary<Relu, Bf16, Bf16>},
     {unary<Sigmoid, float, float>, unary<Sigmoid, Bf16, Bf16>},
     {unary<Tanh, float, float>, unary<Tanh, Bf16, Bf16>},
     {unary<Gelu, float, float>, unary<Gelu, Bf16, Bf16>}},
    {{binary<Add, float>, binary<Add, Bf16>},
     {binary<AddRelu, float>, binary<AddRelu, Bf16>},
     {binary<Multiply, float>, binary<Multiply, Bf16>},
     {binary<ReluBackward, float>, binary<ReluBackward, Bf16>},
     {binary<SigmoidBackward, float>, binary<SigmoidBackward, Bf16>},
     {binary<TanhBackward, float>, binary<TanhBackward, Bf16>},
     {binary<GeluBackward, float>, binary<GeluBackward, Bf16>}},
    {scale<float>, scale<Bf16>},
    {fill<float>, fill<Bf16>},
    {add_n<float>, add_n<Bf16>},
    {bias_add<float>, bias_add<Bf16>},
    {{unary<Copy, float, float>, unary<Copy, float, Bf16>},
     {unary<Copy, Bf16, float>, unary<Copy, Bf16, Bf16>}},
};

}  // namespace syrtos::ops::native::SYRTOS_ISA
