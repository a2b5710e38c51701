#include "syrtos/ops/native/dropout.h"

#include "syrtos/base/parallel.h"
#include "syrtos/ops/native/dispatch.h"
#include "syrtos/ops/native/dropout_kernels.h"

namespace syrtos::ops::native {
namespace {

constexpr int64_t kSerialBelow = 4 << 10;  // elements that are not worth waking threads

const DropoutKernels& kernels() {
  static const DropoutKernels& table = SYRTOS_SELECT_KERNELS(dropout_kernels);
  return table;
}

}  // namespace

void dropout(const DropoutStream& stream, float rate, DType dtype, int64_t samples, int64_t inner,
             int64_t first_sample, const void* src, void* dst) {
  SYRTOS_CHECK(rate >= 0 && rate < 1, "rate = {}", rate);
  const auto kernel = kernels().apply[index_of(dtype)];
  const int64_t bytes = inner * static_cast<int64_t>(size_of(dtype));
  // The unit of work is a group of elements of one sample.
  const int64_t groups = (inner + kDropoutGroup - 1) / kDropoutGroup;
  const int64_t serial_below = kSerialBelow / kDropoutGroup;
  parallel_for(samples * groups, 1, serial_below, [&](int64_t begin, int64_t end) {
    DropoutPart part{};
    part.key[0] = static_cast<uint32_t>(stream.seed);
    part.key[1] = static_cast<uint32_t>(stream.seed >> 32);
    part.step = static_cast<uint32_t>(stream.step);
    part.layer = stream.layer;
    part.threshold = dropout_threshold(rate);
    part.factor = 1.0f / (1.0f - rate);
    while (begin < end) {
      const int64_t n = begin / groups;
      const int64_t last = end - n * groups < groups ? end - n * groups : groups;
      part.sample = static_cast<uint32_t>(first_sample + n);
      part.begin = (begin - n * groups) * kDropoutGroup;
      part.end = last * kDropoutGroup < inner ? last * kDropoutGroup : inner;
      kernel(part, static_cast<const char*>(src) + n * bytes, static_cast<char*>(dst) + n * bytes);
      begin = n * groups + last;
    }
  });
}

}  // namespace syrtos::ops::native
