#include "syrtos/ops/native/batch_norm.h"

#include "syrtos/base/error.h"
#include "syrtos/base/parallel.h"
#include "syrtos/ops/native/batch_norm_kernels.h"
#include "syrtos/ops/native/dispatch.h"

// Splitting. With few rows and many channels a thread takes channels and does both passes without
// meeting the others. Otherwise it takes rows, so that it reads memory in order: sums per thread,
// combined in the order of threads, then the second pass over the same rows, which are still in its
// cache if they fit.

namespace syrtos::ops::native {
namespace {

constexpr int64_t kChannelGrain = 64;      // a multiple of every tile and of the padding
constexpr int64_t kFewRows = 32;           // per thread: not worth a second parallel region
constexpr int64_t kSerialBelow = 8 << 10;  // elements that are not worth waking threads

const BatchNormKernels& kernels() {
  static const BatchNormKernels& table = SYRTOS_SELECT_KERNELS(batch_norm_kernels);
  return table;
}

int64_t padded(int64_t channels) {
  return (channels + kChannelGrain - 1) / kChannelGrain * kChannelGrain;
}

enum class Split { none, channels, rows };

Split split_of(const BatchNormShape& shape) {
  const int threads = thread_count();
  if (threads == 1 || shape.rows * shape.channels < kSerialBelow) return Split::none;
  const bool wide = shape.channels >= kChannelGrain * threads;
  return wide && shape.rows < kFewRows * threads ? Split::channels : Split::rows;
}

// The scratch: four arrays of floats over channels, then for each thread its sums.
struct Scratch {
  static constexpr int64_t kFloats = 4;
  static constexpr int64_t kThreadDoubles = 3;  // two sums and two of half the size

  float* floats[kFloats];
  double* sums;
  int64_t channels;

  Scratch(void* memory, int64_t count) : channels(padded(count)) {
    float* next = static_cast<float*>(memory);
    for (float*& array : floats) {
      array = next;
      next += channels;
    }
    sums = reinterpret_cast<double*>(next);
  }
  BatchNormSums of_thread(int thread) const {
    double* first = sums + thread * kThreadDoubles * channels;
    float* block = reinterpret_cast<float*>(first + 2 * channels);
    return {first, first + channels, block, block + channels};
  }
  BatchNormFinish finish(int64_t rows, int64_t begin, int64_t end, int partials) const {
    return {rows, begin, end, partials, kThreadDoubles * channels, of_thread(0)};
  }
};

void check(const BatchNormShape& shape, const void* scratch) {
  SYRTOS_CHECK(shape.rows > 0 && shape.channels > 0, "rows = {}, channels = {}", shape.rows,
               shape.channels);
  SYRTOS_CHECK(reinterpret_cast<uintptr_t>(scratch) % 64 == 0, "scratch is not aligned");
}

// Runs first(part, thread), then finish(channel begin, end, partials), then second(part).
template <typename First, typename Finish, typename Second>
void two_passes(const BatchNormShape& shape, Split split, First&& first, Finish&& finish,
                Second&& second) {
  const int64_t rows = shape.rows;
  const int64_t channels = shape.channels;
  if (split == Split::none) {
    const BatchNormPart all{channels, 0, rows, 0, channels};
    first(all, 0);
    finish(int64_t{0}, channels, 1);
    second(all);
    return;
  }
  if (split == Split::channels) {
    parallel([&](int thread, int threads) {
      const Range range = share_of(channels, thread, threads, kChannelGrain);
      if (range.begin == range.end) return;
      const BatchNormPart part{channels, 0, rows, range.begin, range.end};
      first(part, 0);
      finish(range.begin, range.end, 1);
      second(part);
    });
    return;
  }
  const auto part_of = [&](int thread, int threads) {
    const Range range = share_of(rows, thread, threads);
    return BatchNormPart{channels, range.begin, range.end, 0, channels};
  };
  int partials = 1;
  parallel([&](int thread, int threads) {
    if (thread == 0) partials = threads;
    first(part_of(thread, threads), thread);
  });
  finish(int64_t{0}, channels, partials);
  parallel([&](int thread, int threads) { second(part_of(thread, threads)); });
}

// One elementwise pass over rows.
template <typename Body>
void one_pass(const BatchNormShape& shape, Body&& body) {
  const int64_t serial_below = (kSerialBelow + shape.channels - 1) / shape.channels;
  parallel_for(shape.rows, 1, serial_below, [&](int64_t begin, int64_t end) {
    body(BatchNormPart{shape.channels, begin, end, 0, shape.channels});
  });
}

}  // namespace

int64_t batch_norm_scratch_bytes(int64_t channels) {
  const auto floats = Scratch::kFloats * static_cast<int64_t>(sizeof(float));
  const auto doubles = Scratch::kThreadDoubles * static_cast<int64_t>(sizeof(double));
  return padded(channels) * (floats + doubles * thread_count());
}

void batch_norm_forward_training(const BatchNormShape& shape, const BatchNormForwardTraining& args,
                                 void* memory) {
  check(shape, memory);
  const int type = index_of(shape.dtype);
  const Scratch scratch(memory, shape.channels);
  auto [shift, scale, unused1, unused2] = scratch.floats;
  const Split split = split_of(shape);
  if (split == Split::rows) {
    const BatchNormPart all{shape.channels, 0, shape.rows, 0, shape.channels};
    kernels().sample_shift[type](all, shape.rows, args.src, shift);
  }
  const BatchNormFactors factors{args.mean, scale, nullptr, args.beta};
  two_passes(
      shape, split,
      [&](const BatchNormPart& part, int thread) {
        if (split != Split::rows) {
          kernels().sample_shift[type](part, shape.rows, args.src, shift);
        }
        kernels().sums[type](part, args.src, shift, scratch.of_thread(thread));
      },
      [&](int64_t begin, int64_t end, int partials) {
        kernels().finish_forward(scratch.finish(shape.rows, begin, end, partials), shift,
                                 args.gamma, args.epsilon, args.momentum, args.mean, args.inv_std,
                                 scale, args.running_mean, args.running_var);
      },
      [&](const BatchNormPart& part) {
        kernels().normalize[type](part, factors, args.src, args.residual, args.relu, args.dst);
      });
}

void batch_norm_forward_inference(const BatchNormShape& shape,
                                  const BatchNormForwardInference& args, void* memory) {
  check(shape, memory);
  const Scratch scratch(memory, shape.channels);
  auto [inv_std, scale, unused1, unused2] = scratch.floats;
  kernels().scale_of(0, shape.channels, args.running_var, args.epsilon, args.gamma, inv_std, scale);
  const BatchNormFactors factors{args.running_mean, scale, nullptr, args.beta};
  one_pass(shape, [&](const BatchNormPart& part) {
    kernels().normalize[index_of(shape.dtype)](part, factors, args.src, args.residual, args.relu,
                                               args.dst);
  });
}

void batch_norm_backward(const BatchNormShape& shape, const BatchNormBackward& args,
                         void* memory) {
  check(shape, memory);
  const int type = index_of(shape.dtype);
  const Scratch scratch(memory, shape.channels);
  auto [scale, slope, shift, unused] = scratch.floats;
  // The first pass leaves the masked gradient in diff_residual, and the second reads that.
  const void* mask = args.relu ? args.dst : nullptr;
  void* masked = args.diff_residual;
  if (!args.relu && masked == args.diff_dst) masked = nullptr;
  const void* gradient = masked != nullptr ? masked : args.diff_dst;
  const void* mask_again = masked != nullptr ? nullptr : mask;
  const BatchNormFactors factors{args.mean, scale, slope, shift};
  const Split split = split_of(shape);
  two_passes(
      shape, split,
      [&](const BatchNormPart& part, int thread) {
        kernels().backward_sums[type](part, args.src, mask, args.diff_dst, args.mean, masked,
                                      scratch.of_thread(thread));
      },
      [&](int64_t begin, int64_t end, int partials) {
        kernels().finish_backward(scratch.finish(shape.rows, begin, end, partials), args.gamma,
                                  args.inv_std, args.diff_gamma, args.diff_beta, scale,
                                  slope, shift);
      },
      [&](const BatchNormPart& part) {
        kernels().backward_data[type](part, factors, args.src, mask_again,
                                      gradient, args.diff_src);
      });
}

}  // namespace syrtos::ops::native
