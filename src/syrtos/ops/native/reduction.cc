#include "syrtos/ops/native/reduction.h"

#include "syrtos/base/parallel.h"
#include "syrtos/ops/native/dispatch.h"
#include "syrtos/ops/native/reduction_kernels.h"

namespace syrtos::ops::native {
namespace {

constexpr int64_t kChannelGrain = 64;       // a multiple of every vector: arrays are padded to it
constexpr int64_t kSerialBelow = 16 << 10;  // elements that are not worth waking threads
constexpr int kMaxThreads = 1024;

const ReductionKernels& kernels() {
  static const ReductionKernels& table = SYRTOS_SELECT_KERNELS(reduction_kernels);
  return table;
}

int64_t padded(int64_t channels) {
  return (channels + kChannelGrain - 1) / kChannelGrain * kChannelGrain;
}

// The sum over threads of kernel(count, first element), added in the order of threads.
template <typename Result, typename Kernel>
Result sum_over_threads(DType dtype, int64_t n, const void* src, Kernel kernel) {
  if (n < kSerialBelow || thread_count() == 1) return kernel(n, src);
  SYRTOS_CHECK(thread_count() <= kMaxThreads, "threads = {}", thread_count());
  Result partial[kMaxThreads];
  int partials = 1;
  parallel([&](int thread, int threads) {
    if (thread == 0) partials = threads;
    const Range range = share_of(n, thread, threads, 256);
    const char* first =
        static_cast<const char*>(src) + range.begin * static_cast<int64_t>(size_of(dtype));
    partial[thread] = kernel(range.end - range.begin, first);
  });
  Result total = 0;
  for (int t = 0; t < partials; ++t) total += partial[t];
  return total;
}

}  // namespace

int64_t bias_gradient_scratch_bytes(int64_t channels) {
  return padded(channels) * static_cast<int64_t>(sizeof(double)) * thread_count();
}

void bias_gradient(DType dtype, int64_t rows, int64_t channels, const void* src, float* diff_bias,
                   void* scratch) {
  const auto kernel = kernels().column_sums[index_of(dtype)];
  double* sums = static_cast<double*>(scratch);
  const int64_t stride = padded(channels);
  int partials = 1;
  if (rows * channels < kSerialBelow || thread_count() == 1) {
    kernel(channels, 0, rows, 0, channels, src, sums);
  } else if (channels >= kChannelGrain * thread_count() && rows < 64 * thread_count()) {
    parallel([&](int thread, int threads) {
      const Range range = share_of(channels, thread, threads, kChannelGrain);
      if (range.begin < range.end) {
        kernel(channels, 0, rows, range.begin, range.end, src, sums);
      }
    });
  } else {
    parallel([&](int thread, int threads) {
      if (thread == 0) partials = threads;
      const Range range = share_of(rows, thread, threads);
      kernel(channels, range.begin, range.end, 0, channels, src, sums + thread * stride);
    });
  }
  for (int64_t c = 0; c < channels; ++c) {
    double total = sums[c];
    for (int t = 1; t < partials; ++t) total += sums[t * stride + c];
    diff_bias[c] = static_cast<float>(total);
  }
}

double sum_of_squares(DType dtype, int64_t n, const void* src) {
  return sum_over_threads<double>(dtype, n, src, kernels().sum_of_squares[index_of(dtype)]);
}

}  // namespace syrtos::ops::native
