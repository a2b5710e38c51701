#include "syrtos/ops/native/batch_norm_kernels.h"
#include "syrtos/ops/native/element.h"

namespace syrtos::ops::native::SYRTOS_ISA {
namespace {

// Rows that one tile of channels walks down before the next tile: few for wide rows, so that the
// memory is read as a few sequential streams; many for narrow ones, where the row is the tile.
// Sums within such a group are floats, the sums of groups doubles.
constexpr int64_t kWideGroup = 16;
constexpr int64_t kNarrowGroup = 64;

/// Calls body(tile, first row, end row) over the part. `backwards` takes the groups from the end,
/// so that a second pass begins with what the first left in the cache.
template <bool kBackwards, typename Body>
inline void for_each_group(const BatchNormPart& part, Body&& body) {
  const bool narrow = part.channel_end - part.channel_begin <= 4 * kLanes;
  const int64_t group = narrow ? kNarrowGroup : kWideGroup;
  const int64_t groups = (part.row_end - part.row_begin + group - 1) / group;
  for (int64_t g = 0; g < groups; ++g) {
    const int64_t first = part.row_begin + (kBackwards ? groups - 1 - g : g) * group;
    const int64_t end = first + group < part.row_end ? first + group : part.row_end;
    for_each_tile(
        part.channel_begin, part.channel_end, [&](auto tile) __attribute__((always_inline)) {
          body(tile, first, end);
        });
  }
}

template <typename T>
void sample_shift(const BatchNormPart& part, int64_t rows, const void* src, float* shift) {
  const int64_t samples = rows >= 128 ? 8 : rows / 16 + 1;
  const int64_t step = rows / samples;
  for_each_tile(part.channel_begin, part.channel_end, [&](auto tile) {
    for (int v = 0; v < tile.kVectors; ++v) {
      Vec sum{};
      for (int64_t s = 0; s < samples; ++s) {
        sum += tile.get(static_cast<const T*>(src) + s * step * part.stride, v);
      }
      tile.put(shift, v, sum * (1.0f / static_cast<float>(samples)));
    }
  });
}

template <typename T>
void sums(const BatchNormPart& part, const void* src, const float* shift, double* sum,
          double* square_sum) {
  for (int64_t c = part.channel_begin; c < part.channel_end; ++c) sum[c] = square_sum[c] = 0;
  for_each_group<false>(
      part, [&](auto tile, int64_t first, int64_t end) __attribute__((always_inline)) {
        constexpr int kVectors = decltype(tile)::kVectors;
        Vec origin[kVectors], total[kVectors], squares[kVectors];
        for (int v = 0; v < kVectors; ++v) {
          origin[v] = tile.get(shift, v);
          total[v] = squares[v] = Vec{};
        }
        const T* row = static_cast<const T*>(src) + first * part.stride;
        for (int64_t r = first; r < end; ++r, row += part.stride) {
#pragma GCC unroll 4
          for (int v = 0; v < kVectors; ++v) {
            const Vec x = tile.get(row, v) - origin[v];
            total[v] += x;
            squares[v] += x * x;
          }
        }
        for (int v = 0; v < kVectors; ++v) {
          tile.accumulate(sum, v, total[v]);
          tile.accumulate(square_sum, v, squares[v]);
        }
      });
}

// Kept apart from the loop below so that it is vectorised: all iterations are independent.
inline float inverse_root(float x) { return 1.0f / __builtin_sqrtf(x); }

void finish_forward(const BatchNormFinish& finish, const float* shift, const float* gamma,
                    float epsilon, float momentum, float* __restrict mean,
                    float* __restrict inv_std, float* __restrict scale,
                    float* __restrict running_mean, float* __restrict running_var) {
  const double inverse = 1.0 / static_cast<double>(finish.rows);
  const float unbiased = finish.rows > 1
                             ? static_cast<float>(finish.rows) / static_cast<float>(finish.rows - 1)
                             : 1.0f;
  // scale holds the variance until inv_std is known.
  for (int64_t c = finish.channel_begin; c < finish.channel_end; ++c) {
    double sum = 0;
    double square_sum = 0;
    for (int t = 0; t < finish.partials; ++t) {
      sum += finish.sum[t * finish.partial_stride + c];
      square_sum += finish.square_sum[t * finish.partial_stride + c];
    }
    const double offset = sum * inverse;
    const double variance = square_sum * inverse - offset * offset;
    mean[c] = static_cast<float>(shift[c] + offset);
    scale[c] = static_cast<float>(variance < 0 ? 0 : variance);
  }
  if (running_mean != nullptr) {
    for (int64_t c = finish.channel_begin; c < finish.channel_end; ++c) {
      running_mean[c] = (1 - momentum) * running_mean[c] + momentum * mean[c];
      running_var[c] = (1 - momentum) * running_var[c] + momentum * (scale[c] * unbiased);
    }
  }
  for (int64_t c = finish.channel_begin; c < finish.channel_end; ++c) {
    inv_std[c] = inverse_root(scale[c] + epsilon);
    scale[c] = gamma[c] * inv_std[c];
  }
}

template <typename T, bool kResidual, bool kRelu>
void normalize_rows(const BatchNormPart& part, const BatchNormFactors& factors, const void* src,
                    const void* residual, void* dst) {
  for_each_group<true>(
      part, [&](auto tile, int64_t first, int64_t end) __attribute__((always_inline)) {
        constexpr int kVectors = decltype(tile)::kVectors;
        Vec mean[kVectors], scale[kVectors], shift[kVectors];
        for (int v = 0; v < kVectors; ++v) {
          mean[v] = tile.get(factors.mean, v);
          scale[v] = tile.get(factors.scale, v);
          shift[v] = tile.get(factors.shift, v);
        }
        for (int64_t r = first; r < end; ++r) {
          const int64_t at = r * part.stride;
#pragma GCC unroll 4
          for (int v = 0; v < kVectors; ++v) {
            Vec y = (tile.get(static_cast<const T*>(src) + at, v) - mean[v]) * scale[v] + shift[v];
            if constexpr (kResidual) y += tile.get(static_cast<const T*>(residual) + at, v);
            if constexpr (kRelu) y = relu(y);
            tile.put(static_cast<T*>(dst) + at, v, y);
          }
        }
      });
}

template <typename T>
void normalize(const BatchNormPart& part, const BatchNormFactors& factors, const void* src,
               const void* residual, bool relu, void* dst) {
  if (residual != nullptr) {
    relu ? normalize_rows<T, true, true>(part, factors, src, residual, dst)
         : normalize_rows<T, true, false>(part, factors, src, residual, dst);
  } else {
    relu ? normalize_rows<T, false, true>(part, factors, src, residual, dst)
         : normalize_rows<T, false, false>(part, factors, src, residual, dst);
  }
}

template <typename T, bool kRelu, bool kResidual>
void backward_sums_rows(const BatchNormPart& part, const void* src, const void* dst,
                        const void* diff_dst, const float* mean, void* diff_residual, double* sum,
                        double* product_sum) {
  for (int64_t c = part.channel_begin; c < part.channel_end; ++c) sum[c] = product_sum[c] = 0;
  for_each_group<false>(
      part, [&](auto tile, int64_t first, int64_t end) __attribute__((always_inline)) {
        constexpr int kVectors = decltype(tile)::kVectors;
        Vec origin[kVectors], total[kVectors], products[kVectors];
        for (int v = 0; v < kVectors; ++v) {
          origin[v] = tile.get(mean, v);
          total[v] = products[v] = Vec{};
        }
        for (int64_t r = first; r < end; ++r) {
          const int64_t at = r * part.stride;
#pragma GCC unroll 4
          for (int v = 0; v < kVectors; ++v) {
            Vec gradient = tile.get(static_cast<const T*>(diff_dst) + at, v);
            if constexpr (kRelu) {
              gradient = relu_mask(tile.get(static_cast<const T*>(dst) + at, v), gradient);
            }
            if constexpr (kResidual) tile.put(static_cast<T*>(diff_residual) + at, v, gradient);
            total[v] += gradient;
            products[v] += gradient * (tile.get(static_cast<const T*>(src) + at, v) - origin[v]);
          }
        }
        for (int v = 0; v < kVectors; ++v) {
          tile.accumulate(sum, v, total[v]);
          tile.accumulate(product_sum, v, products[v]);
        }
      });
}

template <typename T>
void backward_sums(const BatchNormPart& part, const void* src, const void* dst,
                   const void* diff_dst, const float* mean, void* diff_residual, double* sum,
                   double* product_sum) {
  const auto rows = dst == nullptr ? (diff_residual == nullptr ? backward_sums_rows<T, false, false>
                                                               : backward_sums_rows<T, false, true>)
                                   : (diff_residual == nullptr ? backward_sums_rows<T, true, false>
                                                               : backward_sums_rows<T, true, true>);
  rows(part, src, dst, diff_dst, mean, diff_residual, sum, product_sum);
}

void finish_backward(const BatchNormFinish& finish, bool frozen, const float* gamma,
                     const float* inv_std, float* __restrict diff_gamma,
                     float* __restrict diff_beta, float* __restrict scale, float* __restrict slope,
                     float* __restrict shift) {
  const float inverse = frozen ? 0.0f : 1.0f / static_cast<float>(finish.rows);
  for (int64_t c = finish.channel_begin; c < finish.channel_end; ++c) {
    double sum = 0;
    double product_sum = 0;
    for (int t = 0; t < finish.partials; ++t) {
      sum += finish.sum[t * finish.partial_stride + c];
      product_sum += finish.square_sum[t * finish.partial_stride + c];
    }
    diff_beta[c] = static_cast<float>(sum);
    diff_gamma[c] = static_cast<float>(product_sum) * inv_std[c];
    scale[c] = gamma[c] * inv_std[c];
    slope[c] = -scale[c] * inv_std[c] * diff_gamma[c] * inverse;
    shift[c] = -scale[c] * diff_beta[c] * inverse;
  }
}

template <typename T, bool kSource, bool kRelu>
void backward_data_rows(const BatchNormPart& part, const BatchNormFactors& factors, const void* src,
                        const void* dst, const void* diff_dst, void* diff_src) {
  for_each_group<true>(
      part, [&](auto tile, int64_t first, int64_t end) __attribute__((always_inline)) {
        constexpr int kVectors = decltype(tile)::kVectors;
        Vec mean[kVectors], scale[kVectors], slope[kVectors], shift[kVectors];
        for (int v = 0; v < kVectors; ++v) {
          scale[v] = tile.get(factors.scale, v);
          if constexpr (kSource) {
            mean[v] = tile.get(factors.mean, v);
            slope[v] = tile.get(factors.slope, v);
            shift[v] = tile.get(factors.shift, v);
          }
        }
        for (int64_t r = first; r < end; ++r) {
          const int64_t at = r * part.stride;
#pragma GCC unroll 4
          for (int v = 0; v < kVectors; ++v) {
            Vec gradient = tile.get(static_cast<const T*>(diff_dst) + at, v);
            if constexpr (kRelu) {
              gradient = relu_mask(tile.get(static_cast<const T*>(dst) + at, v), gradient);
            }
            Vec result = gradient * scale[v];
            if constexpr (kSource) {
              const Vec x = tile.get(static_cast<const T*>(src) + at, v) - mean[v];
              result += x * slope[v] + shift[v];
            }
            tile.put(static_cast<T*>(diff_src) + at, v, result);
          }
        }
      });
}

template <typename T>
void backward_data(const BatchNormPart& part, const BatchNormFactors& factors, const void* src,
                   const void* dst, const void* diff_dst, void* diff_src) {
  const auto rows = src == nullptr ? (dst == nullptr ? backward_data_rows<T, false, false>
                                                     : backward_data_rows<T, false, true>)
                                   : (dst == nullptr ? backward_data_rows<T, true, false>
                                                     : backward_data_rows<T, true, true>);
  rows(part, factors, src, dst, diff_dst, diff_src);
}

void scale_of(int64_t begin, int64_t end, const float* variance, float epsilon, const float* gamma,
              float* inv_std, float* scale) {
  for (int64_t c = begin; c < end; ++c) inv_std[c] = inverse_root(variance[c] + epsilon);
  if (scale == nullptr) return;
  for (int64_t c = begin; c < end; ++c) scale[c] = gamma[c] * inv_std[c];
}

}  // namespace

const BatchNormKernels batch_norm_kernels = {
    {sample_shift<float>, sample_shift<Bf16>},
    {sums<float>, sums<Bf16>},
    finish_forward,
    {normalize<float>, normalize<Bf16>},
    {backward_sums<float>, backward_sums<Bf16>},
    finish_backward,
    {backward_data<float>, backward_data<Bf16>},
    scale_of,
};

}  // namespace syrtos::ops::native::SYRTOS_ISA
