#include "syrtos/ops/native/depthwise_wgrad.h"

#include <algorithm>

#include "syrtos/base/parallel.h"
#include "syrtos/ops/native/depthwise_wgrad_kernels.h"
#include "syrtos/ops/native/dispatch.h"

namespace syrtos::ops::native {
namespace {

constexpr int64_t kPadding = 16;            // floats: rows of sums begin on lines of the cache
constexpr int64_t kSerialBelow = 16 << 10;  // elements that are not worth waking threads

const DepthwiseWgradKernels& kernels() {
  static const DepthwiseWgradKernels& table = SYRTOS_SELECT_KERNELS(depthwise_wgrad_kernels);
  return table;
}

int64_t row_of(const DepthwiseShape& shape) {
  return (shape.channels + kPadding - 1) / kPadding * kPadding;
}

int64_t taps_of(const DepthwiseShape& shape) { return shape.height.kernel * shape.width.kernel; }

}  // namespace

size_t depthwise_wgrad_scratch_bytes(const DepthwiseShape& shape) {
  return static_cast<size_t>(row_of(shape) * taps_of(shape) * thread_count()) * sizeof(float);
}

void depthwise_wgrad(const DepthwiseShape& shape, const void* src, const void* diff_dst,
                     float* diff_weights, void* scratch) {
  SYRTOS_CHECK(shape.width.kernel >= 1 && shape.width.kernel <= kDepthwiseWidest, "kernel = {}",
               shape.width.kernel);
  const auto kernel = kernels().add_image[index_of(shape.dtype)];
  const int64_t stride = row_of(shape);
  const int64_t taps = taps_of(shape);
  const auto size = static_cast<int64_t>(size_of(shape.dtype));
  const int64_t image = shape.height.input * shape.width.input * shape.channels;
  const int64_t result = shape.height.output * shape.width.output * shape.channels;
  auto* sums = static_cast<float*>(scratch);
  const auto add_images = [&](float* own, int64_t begin, int64_t end) {
    std::fill_n(own, stride * taps, 0.0F);
    for (int64_t n = begin; n < end; ++n) {
      kernel(shape, static_cast<const char*>(src) + n * image * size,
             static_cast<const char*>(diff_dst) + n * result * size, own, stride);
    }
  };
  int used = 1;
  if (shape.batch * result < kSerialBelow || thread_count() == 1) {
    add_images(sums, 0, shape.batch);
  } else {
    parallel([&](int thread, int threads) {
      if (thread == 0) used = threads;
      const Range range = share_of(shape.batch, thread, threads);
      add_images(sums + thread * stride * taps, range.begin, range.end);
    });
  }
  for (int64_t c = 0; c < shape.channels; ++c) {
    for (int64_t tap = 0; tap < taps; ++tap) {
      double total = 0;
      for (int64_t t = 0; t < used; ++t) total += sums[(t * taps + tap) * stride + c];
      diff_weights[c * taps + tap] = static_cast<float>(total);
    }
  }
}

}  // namespace syrtos::ops::native
