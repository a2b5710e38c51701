#include "syrtos/ops/native/batch_norm_kernels.h"
#include "syrtos/ops/native/batch_norm_loops.h"

namespace syrtos::ops::native::SYRTOS_ISA {
namespace {

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
void sums(const BatchNormPart& part, const void* src, const float* shift,
          const BatchNormSums& sums) {
  sum_blocks(part, sums, [&](int64_t begin, int64_t end) {
    for_each_group<false>(
        part, begin,
        end, [&](auto tile, int64_t first, int64_t last) __attribute__((always_inline)) {
          constexpr int kVectors = decltype(tile)::kVectors;
          TileSums<decltype(tile)> total(tile, sums);
          Vec origin[kVectors];
          for (int v = 0; v < kVectors; ++v) origin[v] = tile.get(shift, v);
          const T* const x = static_cast<const T*>(src);
          const int64_t stride = part.stride;
          for (int64_t at = first * stride; at < last * stride; at += stride) {
#pragma GCC unroll 4
            for (int v = 0; v < kVectors; ++v) {
              const Vec centred = tile.get(x + at, v) - origin[v];
              total.first[v] += centred;
              total.second[v] += centred * centred;
            }
          }
          total.keep(tile, sums);
        });
  });
}

/// Adds the sums of the other threads to those of the first, in their order. Apart from the loops
/// over channels that use them, so that these are vectorised.
void combine(const BatchNormFinish& finish) {
  for (int t = 1; t < finish.partials; ++t) {
    const double* __restrict first = finish.sums.first + t * finish.partial_stride;
    const double* __restrict second = finish.sums.second + t * finish.partial_stride;
    for (int64_t c = finish.channel_begin; c < finish.channel_end; ++c) {
      finish.sums.first[c] += first[c];
      finish.sums.second[c] += second[c];
    }
  }
}

inline float inverse_root(float x) { return 1.0f / __builtin_sqrtf(x); }

void finish_forward(const BatchNormFinish& finish, const float* shift, const float* gamma,
                    float epsilon, float momentum, float* __restrict mean,
                    float* __restrict inv_std, float* __restrict scale,
                    float* __restrict running_mean, float* __restrict running_var) {
  const double inverse = 1.0 / static_cast<double>(finish.rows);
  const float unbiased = finish.rows > 1
                             ? static_cast<float>(finish.rows) / static_cast<float>(finish.rows - 1)
                             : 1.0f;
  combine(finish);
  const double* __restrict sum = finish.sums.first;
  const double* __restrict square_sum = finish.sums.second;
  // scale holds the variance until inv_std is known.
  for (int64_t c = finish.channel_begin; c < finish.channel_end; ++c) {
    const double offset = sum[c] * inverse;
    const double variance = square_sum[c] * inverse - offset * offset;
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
      part, part.row_begin,
      part.row_end, [&](auto tile, int64_t first, int64_t end) __attribute__((always_inline)) {
        constexpr int kVectors = decltype(tile)::kVectors;
        Vec mean[kVectors], scale[kVectors], shift[kVectors];
        for (int v = 0; v < kVectors; ++v) {
          mean[v] = tile.get(factors.mean, v);
          scale[v] = tile.get(factors.scale, v);
          shift[v] = tile.get(factors.shift, v);
        }
        // Copies of what is captured, which stores could otherwise alias.
        const T* const x = static_cast<const T*>(src);
        const T* const added = static_cast<const T*>(residual);
        T* const out = static_cast<T*>(dst);
        const int64_t stride = part.stride;
        for (int64_t at = first * stride; at < end * stride; at += stride) {
#pragma GCC unroll 4
          for (int v = 0; v < kVectors; ++v) {
            Vec y = (tile.get(x + at, v) - mean[v]) * scale[v] + shift[v];
            if constexpr (kResidual) y += tile.get(added + at, v);
            if constexpr (kRelu) y = relu(y);
            tile.put(out + at, v, y);
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
                        const void* diff_dst, const float* mean, void* diff_residual,
                        const BatchNormSums& sums) {
  sum_blocks(part, sums, [&](int64_t begin, int64_t end) {
    for_each_group<false>(
        part, begin,
        end, [&](auto tile, int64_t first, int64_t last) __attribute__((always_inline)) {
          constexpr int kVectors = decltype(tile)::kVectors;
          TileSums<decltype(tile)> total(tile, sums);
          Vec origin[kVectors];
          for (int v = 0; v < kVectors; ++v) origin[v] = tile.get(mean, v);
          const T* const x = static_cast<const T*>(src);
          const T* const y = static_cast<const T*>(dst);
          const T* const diff = static_cast<const T*>(diff_dst);
          T* const masked = static_cast<T*>(diff_residual);
          const int64_t stride = part.stride;
          for (int64_t at = first * stride; at < last * stride; at += stride) {
#pragma GCC unroll 4
            for (int v = 0; v < kVectors; ++v) {
              Vec gradient = tile.get(diff + at, v);
              if constexpr (kRelu) gradient = relu_mask(tile.get(y + at, v), gradient);
              if constexpr (kResidual) tile.put(masked + at, v, gradient);
              total.first[v] += gradient;
              total.second[v] += gradient * (tile.get(x + at, v) - origin[v]);
            }
          }
          total.keep(tile, sums);
        });
  });
}

template <typename T>
void backward_sums(const BatchNormPart& part, const void* src, const void* dst,
                   const void* diff_dst, const float* mean, void* diff_residual,
                   const BatchNormSums& sums) {
  const auto rows = dst == nullptr ? (diff_residual == nullptr ? backward_sums_rows<T, false, false>
                                                               : backward_sums_rows<T, false, true>)
                                   : (diff_residual == nullptr ? backward_sums_rows<T, true, false>
                                                               : backward_sums_rows<T, true, true>);
  rows(part, src, dst, diff_dst, mean, diff_residual, sums);
}

void finish_backward(const BatchNormFinish& finish, const float* gamma, const float* inv_std,
                     float* __restrict diff_gamma, float* __restrict diff_beta,
                     float* __restrict scale, float* __restrict slope, float* __restrict shift) {
  const float inverse = 1.0f / static_cast<float>(finish.rows);
  combine(finish);
  const double* __restrict sum = finish.sums.first;
  const double* __restrict product_sum = finish.sums.second;
  for (int64_t c = finish.channel_begin; c < finish.channel_end; ++c) {
    diff_beta[c] = static_cast<float>(sum[c]);
    diff_gamma[c] = static_cast<float>(product_sum[c]) * inv_std[c];
    scale[c] = gamma[c] * inv_std[c];
    slope[c] = -scale[c] * inv_std[c] * diff_gamma[c] * inverse;
    shift[c] = -scale[c] * diff_beta[c] * inverse;
  }
}

template <typename T, bool kRelu>
void backward_data_rows(const BatchNormPart& part, const BatchNormFactors& factors, const void* src,
                        const void* dst, const void* diff_dst, void* diff_src) {
  for_each_group<true>(
      part, part.row_begin,
      part.row_end, [&](auto tile, int64_t first, int64_t end) __attribute__((always_inline)) {
        constexpr int kVectors = decltype(tile)::kVectors;
        Vec mean[kVectors], scale[kVectors], slope[kVectors], shift[kVectors];
        for (int v = 0; v < kVectors; ++v) {
          scale[v] = tile.get(factors.scale, v);
          mean[v] = tile.get(factors.mean, v);
          slope[v] = tile.get(factors.slope, v);
          shift[v] = tile.get(factors.shift, v);
        }
        const T* const x = static_cast<const T*>(src);
        const T* const y = static_cast<const T*>(dst);
        const T* const diff = static_cast<const T*>(diff_dst);
        T* const out = static_cast<T*>(diff_src);
        const int64_t stride = part.stride;
        for (int64_t at = first * stride; at < end * stride; at += stride) {
#pragma GCC unroll 4
          for (int v = 0; v < kVectors; ++v) {
            Vec gradient = tile.get(diff + at, v);
            if constexpr (kRelu) {
              gradient = relu_mask(tile.get(y + at, v), gradient);
            }
            Vec result = gradient * scale[v];
            const Vec centred = tile.get(x + at, v) - mean[v];
            result += centred * slope[v] + shift[v];
            tile.put(out + at, v, result);
          }
        }
      });
}

template <typename T>
void backward_data(const BatchNormPart& part, const BatchNormFactors& factors, const void* src,
                   const void* dst, const void* diff_dst, void* diff_src) {
  const auto rows = dst == nullptr ? backward_data_rows<T, false> : backward_data_rows<T, true>;
  rows(part, factors, src, dst, diff_dst, diff_src);
}

void scale_of(int64_t begin, int64_t end, const float* variance, float epsilon, const float* gamma,
              float* inv_std, float* scale) {
  for (int64_t c = begin; c < end; ++c) inv_std[c] = inverse_root(variance[c] + epsilon);
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
