#include "syrtos/ops/native/row_norm.h"

#include <algorithm>
#include <cmath>

#include "syrtos/base/parallel.h"
#include "syrtos/ops/native/dispatch.h"
#include "syrtos/ops/native/row_norm_kernels.h"

namespace syrtos::ops::native {
namespace {

constexpr int64_t kPadding = 64;            // a multiple of every vector: sums are padded to it
constexpr int64_t kSerialBelow = 16 << 10;  // elements that are not worth waking threads

const RowNormKernels& kernels() {
  static const RowNormKernels& table = SYRTOS_SELECT_KERNELS(row_norm_kernels);
  return table;
}

int64_t padded(int64_t n) { return (n + kPadding - 1) / kPadding * kPadding; }

const void* at(const void* p, DType dtype, int64_t i) {
  return static_cast<const char*>(p) + i * static_cast<int64_t>(size_of(dtype));
}
void* at(void* p, DType dtype, int64_t i) {
  return static_cast<char*>(p) + i * static_cast<int64_t>(size_of(dtype));
}

/// Calls body(thread, begin, end) for shares of n items of `work` elements; threads that are used
/// number from 0. Returns how many.
template <typename Body>
int share_out(int64_t n, int64_t work, Body&& body) {
  if (n * work < kSerialBelow || thread_count() == 1) {
    body(0, int64_t{0}, n);
    return 1;
  }
  int used = 1;
  parallel([&](int thread, int threads) {
    if (thread == 0) used = threads;
    const Range range = share_of(n, thread, threads);
    body(thread, range.begin, range.end);
  });
  return used;
}

/// What one thread needs for group norm, and what each sample leaves behind.
struct GroupScratch {
  int64_t stride;
  double* samples;  ///< [batch][2][stride]: sums of diff * x and of diff
  float* coefficients;

  GroupScratch(const GroupNormShape& shape, void* scratch)
      : stride(padded(shape.channels)),
        samples(static_cast<double*>(scratch)),
        coefficients(reinterpret_cast<float*>(samples + shape.batch * 2 * stride)) {}

  double* sum(int64_t sample, int which) const { return samples + (sample * 2 + which) * stride; }
  float* own(int thread, int which) const {
    return coefficients + (static_cast<int64_t>(thread) * 4 + which) * stride;
  }
};

/// The mean of sums over the channels of a group.
double group_mean(const GroupNormShape& shape, const double* sums, int64_t group) {
  const int64_t size = shape.channels / shape.groups;
  double total = 0;
  for (int64_t c = group * size; c < (group + 1) * size; ++c) total += sums[c];
  return total / static_cast<double>(size * shape.pixels);
}

void forward_sample(const GroupNormShape& shape, const NormForward& args, int64_t n,
                    const GroupScratch& scratch, int thread) {
  const int type = index_of(shape.dtype);
  const int64_t first = n * shape.pixels * shape.channels;
  const void* src = at(args.src, shape.dtype, first);
  double* sum = scratch.sum(n, 0);
  float* centre = scratch.own(thread, 0);
  float* a = scratch.own(thread, 1);
  float* b = scratch.own(thread, 2);
  const int64_t size = shape.channels / shape.groups;
  float* mean = args.mean + n * shape.groups;
  float* inv_std = args.inv_std + n * shape.groups;
  kernels().sums[type](shape.pixels, shape.channels, src, sum);
  for (int64_t g = 0; g < shape.groups; ++g) {
    mean[g] = static_cast<float>(group_mean(shape, sum, g));
    std::fill_n(centre + g * size, size, mean[g]);
  }
  kernels().squares[type](shape.pixels, shape.channels, src, centre, sum);
  for (int64_t g = 0; g < shape.groups; ++g) {
    const double variance = group_mean(shape, sum, g);
    inv_std[g] = static_cast<float>(1 / std::sqrt(variance + args.epsilon));
    for (int64_t c = g * size; c < (g + 1) * size; ++c) {
      a[c] = args.gamma[c] * inv_std[g];
      b[c] = args.beta[c] - mean[g] * a[c];
    }
  }
  kernels().apply[type](shape.pixels, shape.channels, src, a, b, at(args.dst, shape.dtype, first));
}

// With x the normalised elements and g = gamma * diff: diff_src = inv_std * (g - mean of g - x *
// mean of g x), a linear function of diff and src with coefficients for each channel.
void backward_sample(const GroupNormShape& shape, const NormBackward& args, int64_t n,
                     const GroupScratch& scratch, int thread) {
  const int type = index_of(shape.dtype);
  const int64_t first = n * shape.pixels * shape.channels;
  const void* src = at(args.src, shape.dtype, first);
  const void* diff = at(args.diff_dst, shape.dtype, first);
  double* sum_x = scratch.sum(n, 0);
  double* sum = scratch.sum(n, 1);
  float* centre = scratch.own(thread, 0);
  float* a = scratch.own(thread, 1);
  float* b = scratch.own(thread, 2);
  float* shift = scratch.own(thread, 3);
  const int64_t size = shape.channels / shape.groups;
  const float* mean = args.mean + n * shape.groups;
  const float* inv_std = args.inv_std + n * shape.groups;
  for (int64_t g = 0; g < shape.groups; ++g) std::fill_n(centre + g * size, size, mean[g]);
  kernels().gradient_sums[type](shape.pixels, shape.channels, src, centre, diff, sum, sum_x);
  for (int64_t g = 0; g < shape.groups; ++g) {
    double mean_g = 0;
    double mean_gx = 0;
    for (int64_t c = g * size; c < (g + 1) * size; ++c) {
      sum_x[c] *= inv_std[g];
      mean_g += static_cast<double>(args.gamma[c]) * sum[c];
      mean_gx += static_cast<double>(args.gamma[c]) * sum_x[c];
    }
    const auto count = static_cast<double>(size * shape.pixels);
    const double slope = -inv_std[g] * static_cast<double>(inv_std[g]) * mean_gx / count;
    for (int64_t c = g * size; c < (g + 1) * size; ++c) {
      a[c] = args.gamma[c] * inv_std[g];
      b[c] = static_cast<float>(slope);
      shift[c] = static_cast<float>(-inv_std[g] * mean_g / count - slope * mean[g]);
    }
  }
  kernels().apply_two[type](shape.pixels, shape.channels, diff, a, src, b, shift,
                            at(args.diff_src, shape.dtype, first));
}

}  // namespace

void layer_norm_forward(const LayerNormShape& shape, const NormForward& args) {
  const auto kernel = kernels().layer_forward[index_of(shape.dtype)];
  share_out(shape.rows, shape.size, [&](int /*thread*/, int64_t begin, int64_t end) {
    NormForward part = args;
    part.src = at(args.src, shape.dtype, begin * shape.size);
    part.dst = at(args.dst, shape.dtype, begin * shape.size);
    part.mean += begin;
    part.inv_std += begin;
    kernel(end - begin, shape.size, part);
  });
}

size_t layer_norm_backward_scratch_bytes(const LayerNormShape& shape) {
  return static_cast<size_t>(2 * padded(shape.size) * thread_count()) * sizeof(double);
}

void layer_norm_backward(const LayerNormShape& shape, const NormBackward& args, void* scratch) {
  const auto kernel = kernels().layer_backward[index_of(shape.dtype)];
  const int64_t stride = padded(shape.size);
  auto* sums = static_cast<double*>(scratch);
  const int used = share_out(shape.rows, shape.size, [&](int thread, int64_t begin, int64_t end) {
    NormBackward part = args;
    part.src = at(args.src, shape.dtype, begin * shape.size);
    part.diff_dst = at(args.diff_dst, shape.dtype, begin * shape.size);
    part.diff_src = at(args.diff_src, shape.dtype, begin * shape.size);
    part.mean += begin;
    part.inv_std += begin;
    double* own = sums + thread * 2 * stride;
    std::fill_n(own, 2 * stride, 0.0);
    kernel(end - begin, shape.size, part, own, own + stride);
  });
  for (int64_t i = 0; i < shape.size; ++i) {
    double gamma = 0;
    double beta = 0;
    for (int thread = 0; thread < used; ++thread) {
      gamma += sums[thread * 2 * stride + i];
      beta += sums[(thread * 2 + 1) * stride + i];
    }
    args.diff_gamma[i] = static_cast<float>(gamma);
    args.diff_beta[i] = static_cast<float>(beta);
  }
}

size_t group_norm_scratch_bytes(const GroupNormShape& shape) {
  const auto stride = static_cast<size_t>(padded(shape.channels));
  return stride * (static_cast<size_t>(shape.batch) * 2 * sizeof(double) +
                   static_cast<size_t>(thread_count()) * 4 * sizeof(float));
}

void group_norm_forward(const GroupNormShape& shape, const NormForward& args, void* memory) {
  const GroupScratch scratch(shape, memory);
  share_out(shape.batch, shape.pixels * shape.channels,
            [&](int thread, int64_t begin, int64_t end) {
              for (int64_t n = begin; n < end; ++n) forward_sample(shape, args, n, scratch, thread);
            });
}

void group_norm_backward(const GroupNormShape& shape, const NormBackward& args, void* memory) {
  const GroupScratch scratch(shape, memory);
  share_out(shape.batch, shape.pixels * shape.channels,
            [&](int thread, int64_t begin, int64_t end) {
              for (int64_t n = begin; n < end; ++n) {
                backward_sample(shape, args, n, scratch, thread);
              }
            });
  for (int64_t c = 0; c < shape.channels; ++c) {
    double gamma = 0;
    double beta = 0;
    for (int64_t n = 0; n < shape.batch; ++n) {
      gamma += scratch.sum(n, 0)[c];
      beta += scratch.sum(n, 1)[c];
    }
    args.diff_gamma[c] = static_cast<float>(gamma);
    args.diff_beta[c] = static_cast<float>(beta);
  }
}

}  // namespace syrtos::ops::native
