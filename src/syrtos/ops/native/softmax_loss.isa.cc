#include "syrtos/ops/native/softmax_loss_kernels.h"
#include "syrtos/ops/native/vector_math.h"

namespace syrtos::ops::native::SYRTOS_ISA {
namespace {

/// Calls full(i) for each whole vector of a row and rest(i, count) for what is left over.
template <typename Full, typename Rest>
[[gnu::always_inline]] inline void for_each_vector(int64_t n, Full&& full, Rest&& rest) {
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) full(i);
  if (i < n) rest(i, static_cast<int>(n - i));
}

constexpr float kLowest = -__builtin_inff();

template <typename T>
inline float row_max(int64_t n, const T* row) {
  Vec top = broadcast(kLowest);
  for_each_vector(
      n, [&](int64_t i) { top = vec_max(load(row + i), top); },
      [&](int64_t i, int count) { top = vec_max(load_or(row + i, count, kLowest), top); });
  return horizontal_max(top);
}

/// The sum of exp(row - top).
template <typename T>
inline float row_exp_sum(int64_t n, const T* row, float top) {
  Vec sum{};
  for_each_vector(
      n, [&](int64_t i) { sum += vec_exp(load(row + i) - top); },
      [&](int64_t i, int count) { sum += vec_exp(load_or(row + i, count, kLowest) - top); });
  return horizontal_sum(sum);
}

/// dst = function(src), element by element.
template <typename From, typename To, typename Function>
[[gnu::always_inline]] inline void map_row(int64_t n, const From* src, To* dst,
                                           Function&& function) {
  for_each_vector(
      n, [&](int64_t i) { store(dst + i, function(load(src + i))); },
      [&](int64_t i, int count) { store(dst + i, function(load(src + i, count)), count); });
}

// Exponentials are computed again for the result rather than stored, so that bf16 results are
// rounded once.
template <typename T>
void softmax(int64_t rows, int64_t classes, const void* src, void* dst) {
  for (int64_t r = 0; r < rows; ++r) {
    const T* row = static_cast<const T*>(src) + r * classes;
    const float top = row_max(classes, row);
    const float inverse = 1.0f / row_exp_sum(classes, row, top);
    map_row(classes, row, static_cast<T*>(dst) + r * classes,
            [=](Vec x) { return vec_exp(x - top) * inverse; });
  }
}

template <typename T>
void log_softmax(int64_t rows, int64_t classes, const void* src, void* dst) {
  for (int64_t r = 0; r < rows; ++r) {
    const T* row = static_cast<const T*>(src) + r * classes;
    const float top = row_max(classes, row);
    const float log_sum = __builtin_logf(row_exp_sum(classes, row, top));
    map_row(classes, row, static_cast<T*>(dst) + r * classes,
            [=](Vec x) { return (x - top) - log_sum; });
  }
}

template <typename T, bool kLog>
void backward(int64_t rows, int64_t classes, const void* dst, const void* diff_dst,
              void* diff_src) {
  for (int64_t r = 0; r < rows; ++r) {
    const T* y = static_cast<const T*>(dst) + r * classes;
    const T* diff = static_cast<const T*>(diff_dst) + r * classes;
    T* out = static_cast<T*>(diff_src) + r * classes;
    Vec sum{};
    const auto add = [&](Vec value, Vec d) { sum += kLog ? d : value * d; };
    for_each_vector(
        classes, [&](int64_t i) { add(load(y + i), load(diff + i)); },
        [&](int64_t i, int count) { add(load(y + i, count), load(diff + i, count)); });
    const float total = horizontal_sum(sum);
    const auto gradient = [&](Vec value, Vec d) {
      return kLog ? d - vec_exp(value) * total : value * (d - total);
    };
    for_each_vector(
        classes, [&](int64_t i) { store(out + i, gradient(load(y + i), load(diff + i))); },
        [&](int64_t i, int count) {
          store(out + i, gradient(load(y + i, count), load(diff + i, count)), count);
        });
  }
}

inline float as_float(float x) { return x; }
inline float as_float(Bf16 x) {
  const uint32_t bits = uint32_t{x.bits} << 16;
  float result;
  __builtin_memcpy(&result, &bits, sizeof result);
  return result;
}

// With z = logits - max and l = log sum exp z:
//   loss = (1 - smoothing) * (l - z[label]) + smoothing * (l - mean of z).
template <typename From, typename To>
void cross_entropy(int64_t rows, int64_t classes, float smoothing, const void* logits,
                   const int32_t* labels, void* probabilities, float* loss) {
  for (int64_t r = 0; r < rows; ++r) {
    const From* row = static_cast<const From*>(logits) + r * classes;
    const float top = row_max(classes, row);
    const float sum = row_exp_sum(classes, row, top);
    if (loss != nullptr) {
      const float log_sum = __builtin_logf(sum);
      float value = log_sum - (as_float(row[labels[r]]) - top);
      if (smoothing > 0) {
        Vec z{};
        for_each_vector(
            classes, [&](int64_t i) { z += load(row + i) - top; },
            [&](int64_t i, int count) { z += load_or(row + i, count, top) - top; });
        const float mean = horizontal_sum(z) / static_cast<float>(classes);
        value = (1.0f - smoothing) * value + smoothing * (log_sum - mean);
      }
      loss[r] = value;
    }
    if (probabilities != nullptr) {
      const float inverse = 1.0f / sum;
      map_row(classes, row, static_cast<To*>(probabilities) + r * classes,
              [=](Vec x) { return vec_exp(x - top) * inverse; });
    }
  }
}

template <typename From, typename To>
void cross_entropy_backward(int64_t rows, int64_t classes, float smoothing,
                            const void* probabilities, const int32_t* labels, float factor,
                            void* diff_logits) {
  const float everywhere = smoothing / static_cast<float>(classes);
  const Vec zeros{};
  for (int64_t r = 0; r < rows; ++r) {
    const From* row = static_cast<const From*>(probabilities) + r * classes;
    To* diff = static_cast<To*>(diff_logits) + r * classes;
    const float at_label = as_float(row[labels[r]]);
    map_row(classes, row, diff, [=](Vec p) { return (p - everywhere) * factor; });
    store(diff + labels[r], zeros + (at_label - everywhere - (1.0f - smoothing)) * factor, 1);
  }
}

}  // namespace

const SoftmaxLossKernels softmax_loss_kernels = {
    {softmax<float>, softmax<Bf16>},
    {log_softmax<float>, log_softmax<Bf16>},
    {backward<float, false>, backward<Bf16, false>},
    {backward<float, true>, backward<Bf16, true>},
    {{cross_entropy<float, float>, cross_entropy<float, Bf16>},
     {cross_entropy<Bf16, float>, cross_entropy<Bf16, Bf16>}},
    {{cross_entropy_backward<float, float>, cross_entropy_backward<float, Bf16>},
     {cross_entropy_backward<Bf16, float>, cross_entropy_backward<Bf16, Bf16>}},
};

}  // namespace syrtos::ops::native::SYRTOS_ISA
