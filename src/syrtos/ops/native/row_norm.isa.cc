#include "syrtos/ops/native/element.h"
#include "syrtos/ops/native/row_norm_kernels.h"

namespace syrtos::ops::native::SYRTOS_ISA {
namespace {

constexpr int64_t kGroup = 16;  // rows that are summed up in floats before doubles take over

/// The sum over a row of function(vector at i, lanes beyond the end are zero and left out).
template <typename Full, typename Rest>
[[gnu::always_inline]] inline float sum_over(int64_t n, Full&& full, Rest&& rest) {
  Vec sum[2] = {};
  int64_t i = 0;
  for (; i + 2 * kLanes <= n; i += 2 * kLanes) {
    sum[0] += full(i);
    sum[1] += full(i + kLanes);
  }
  for (; i + kLanes <= n; i += kLanes) sum[0] += full(i);
  if (i < n) sum[1] += rest(i, static_cast<int>(n - i));
  return horizontal_sum(sum[0] + sum[1]);
}

/// Zero in the lanes from n on.
[[gnu::always_inline]] inline Vec first_of(Vec v, int n) {
  for (int i = 0; i < kLanes; ++i) v[i] = i < n ? v[i] : 0.0f;
  return v;
}

template <typename Full, typename Rest>
[[gnu::always_inline]] inline void for_each_vector(int64_t n, Full&& full, Rest&& rest) {
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) full(i);
  if (i < n) rest(i, static_cast<int>(n - i));
}

template <typename T>
void layer_forward(int64_t rows, int64_t size, const NormForward& args) {
  const float share = 1.0f / static_cast<float>(size);
  for (int64_t r = 0; r < rows; ++r) {
    const T* src = static_cast<const T*>(args.src) + r * size;
    T* dst = static_cast<T*>(args.dst) + r * size;
    const float mean = share * sum_over(
                                   size, [&](int64_t i) { return load(src + i); },
                                   [&](int64_t i, int n) { return load(src + i, n); });
    const auto square = [=](Vec x) { return (x - mean) * (x - mean); };
    const float variance =
        share * sum_over(
                    size, [&](int64_t i) { return square(load(src + i)); },
                    [&](int64_t i, int n) { return first_of(square(load(src + i, n)), n); });
    const float inv_std = 1.0f / __builtin_sqrtf(variance + args.epsilon);
    args.mean[r] = mean;
    args.inv_std[r] = inv_std;
    for_each_vector(
        size,
        [&](int64_t i) {
          store(dst + i,
                (load(src + i) - mean) * inv_std * load(args.gamma + i) + load(args.beta + i));
        },
        [&](int64_t i, int n) {
          store(dst + i,
                (load(src + i, n) - mean) * inv_std * load(args.gamma + i, n) +
                    load(args.beta + i, n),
                n);
        });
  }
}

/// Sums over some rows of diff * x and of diff.
template <typename T>
inline void add_rows(int64_t first, int64_t end, int64_t size, const NormBackward& args,
                     double* gamma_sum, double* beta_sum) {
  for_each_tile(
      0, size, [&](auto tile) __attribute__((always_inline)) {
        constexpr int kVectors = decltype(tile)::kVectors;
        Vec gamma[kVectors] = {};
        Vec beta[kVectors] = {};
        for (int64_t r = first; r < end; ++r) {
          const T* src = static_cast<const T*>(args.src) + r * size;
          const T* diff = static_cast<const T*>(args.diff_dst) + r * size;
          const float mean = args.mean[r];
          const float inv_std = args.inv_std[r];
#pragma GCC unroll 4
          for (int v = 0; v < kVectors; ++v) {
            const Vec d = tile.get(diff, v);
            beta[v] += d;
            gamma[v] += d * ((tile.get(src, v) - mean) * inv_std);
          }
        }
        for (int v = 0; v < kVectors; ++v) {
          tile.accumulate(gamma_sum, v, gamma[v]);
          tile.accumulate(beta_sum, v, beta[v]);
        }
      });
}

template <typename T>
inline void differentiate_row(int64_t r, int64_t size, const NormBackward& args) {
  const T* src = static_cast<const T*>(args.src) + r * size;
  const T* diff = static_cast<const T*>(args.diff_dst) + r * size;
  T* out = static_cast<T*>(args.diff_src) + r * size;
  const float mean = args.mean[r];
  const float inv_std = args.inv_std[r];
  const float share = 1.0f / static_cast<float>(size);
  Vec total{};
  Vec total_x{};
  const auto add = [&](Vec x, Vec g) {
    total += g;
    total_x += g * ((x - mean) * inv_std);
  };
  for_each_vector(
      size, [&](int64_t i) { add(load(src + i), load(diff + i) * load(args.gamma + i)); },
      [&](int64_t i, int n) {
        add(load(src + i, n), load(diff + i, n) * load(args.gamma + i, n));
      });
  const float mean_g = share * horizontal_sum(total);
  const float mean_gx = share * horizontal_sum(total_x);
  const auto result = [&](Vec x, Vec g) {
    return inv_std * (g - mean_g - (x - mean) * (inv_std * mean_gx));
  };
  for_each_vector(
      size,
      [&](int64_t i) {
        store(out + i, result(load(src + i), load(diff + i) * load(args.gamma + i)));
      },
      [&](int64_t i, int n) {
        store(out + i, result(load(src + i, n), load(diff + i, n) * load(args.gamma + i, n)), n);
      });
}

template <typename T>
void layer_backward(int64_t rows, int64_t size, const NormBackward& args, double* gamma_sum,
                    double* beta_sum) {
  for (int64_t first = 0; first < rows; first += kGroup) {
    const int64_t end = first + kGroup < rows ? first + kGroup : rows;
    add_rows<T>(first, end, size, args, gamma_sum, beta_sum);
    for (int64_t r = first; r < end; ++r) differentiate_row<T>(r, size, args);
  }
}

/// Adds up term(tile, v, row) over all rows, for each column; kSums results at a time.
template <int kSums, typename Term>
[[gnu::always_inline]] inline void sum_columns(int64_t rows, int64_t columns,
                                               double* const (&sums)[kSums], Term&& term) {
  for (int s = 0; s < kSums; ++s) {
    for (int64_t c = 0; c < columns; ++c) sums[s][c] = 0;
  }
  for (int64_t first = 0; first < rows; first += kGroup) {
    const int64_t end = first + kGroup < rows ? first + kGroup : rows;
    for_each_tile(
        0, columns, [&](auto tile) __attribute__((always_inline)) {
          constexpr int kVectors = decltype(tile)::kVectors;
          Vec total[kSums][kVectors] = {};
          for (int64_t r = first; r < end; ++r) {
#pragma GCC unroll 4
            for (int v = 0; v < kVectors; ++v) {
              Vec terms[kSums];
              term(tile, v, r, terms);
              for (int s = 0; s < kSums; ++s) total[s][v] += terms[s];
            }
          }
          for (int s = 0; s < kSums; ++s) {
            for (int v = 0; v < kVectors; ++v) tile.accumulate(sums[s], v, total[s][v]);
          }
        });
  }
}

template <typename T>
void sums(int64_t pixels, int64_t channels, const void* src, double* sum) {
  const T* p = static_cast<const T*>(src);
  double* const results[] = {sum};
  sum_columns(
      pixels, channels,
      results, [&](auto tile, int v, int64_t r, Vec* terms) __attribute__((always_inline)) {
        terms[0] = tile.get(p + r * channels, v);
      });
}

template <typename T>
void squares(int64_t pixels, int64_t channels, const void* src, const float* centre, double* sum) {
  const T* p = static_cast<const T*>(src);
  double* const results[] = {sum};
  sum_columns(
      pixels, channels,
      results, [&](auto tile, int v, int64_t r, Vec* terms) __attribute__((always_inline)) {
        const Vec x = tile.get(p + r * channels, v) - tile.get(centre, v);
        terms[0] = x * x;
      });
}

template <typename T>
void gradient_sums(int64_t pixels, int64_t channels, const void* src, const float* centre,
                   const void* diff, double* sum, double* sum_x) {
  const T* p = static_cast<const T*>(src);
  const T* d = static_cast<const T*>(diff);
  double* const results[] = {sum, sum_x};
  sum_columns(
      pixels, channels,
      results, [&](auto tile, int v, int64_t r, Vec* terms) __attribute__((always_inline)) {
        terms[0] = tile.get(d + r * channels, v);
        terms[1] = terms[0] * (tile.get(p + r * channels, v) - tile.get(centre, v));
      });
}

template <typename T>
void apply(int64_t pixels, int64_t channels, const void* src, const float* a, const float* b,
           void* dst) {
  for (int64_t r = 0; r < pixels; ++r) {
    const T* from = static_cast<const T*>(src) + r * channels;
    T* to = static_cast<T*>(dst) + r * channels;
    for_each_vector(
        channels, [&](int64_t i) { store(to + i, load(a + i) * load(from + i) + load(b + i)); },
        [&](int64_t i, int n) {
          store(to + i, load(a + i, n) * load(from + i, n) + load(b + i, n), n);
        });
  }
}

template <typename T>
void apply_two(int64_t pixels, int64_t channels, const void* diff, const float* a, const void* src,
               const float* b, const float* shift, void* dst) {
  for (int64_t r = 0; r < pixels; ++r) {
    const T* d = static_cast<const T*>(diff) + r * channels;
    const T* x = static_cast<const T*>(src) + r * channels;
    T* to = static_cast<T*>(dst) + r * channels;
    for_each_vector(
        channels,
        [&](int64_t i) {
          store(to + i, load(a + i) * load(d + i) + (load(b + i) * load(x + i) + load(shift + i)));
        },
        [&](int64_t i, int n) {
          store(to + i,
                load(a + i, n) * load(d + i, n) +
                    (load(b + i, n) * load(x + i, n) + load(shift + i, n)),
                n);
        });
  }
}

}  // namespace

const RowNormKernels row_norm_kernels = {
    {layer_forward<float>, layer_forward<Bf16>},
    {layer_backward<float>, layer_backward<Bf16>},
    {sums<float>, sums<Bf16>},
    {squares<float>, squares<Bf16>},
    {gradient_sums<float>, gradient_sums<Bf16>},
    {apply<float>, apply<Bf16>},
    {apply_two<float>, apply_two<Bf16>},
};

}  // namespace syrtos::ops::native::SYRTOS_ISA
