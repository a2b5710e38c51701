#include "syrtos/ops/native/pooling.h"

#include "syrtos/base/parallel.h"
#include "syrtos/ops/native/dispatch.h"
#include "syrtos/ops/native/pooling_kernels.h"

namespace syrtos::ops::native {
namespace {

constexpr int64_t kSerialBelow = 16 << 10;  // elements that are not worth waking threads

const PoolingKernels& kernels() {
  static const PoolingKernels& table = SYRTOS_SELECT_KERNELS(pooling_kernels);
  return table;
}

void check(const PoolAxis& axis) {
  SYRTOS_CHECK(axis.input >= 1 && axis.output >= 1, "input = {}, output = {}", axis.input,
               axis.output);
  if (axis.adaptive) return;
  SYRTOS_CHECK(axis.kernel >= 1 && axis.stride >= 1 && axis.dilation >= 1 && axis.padding >= 0,
               "kernel = {}, stride = {}, dilation = {}, padding = {}", axis.kernel, axis.stride,
               axis.dilation, axis.padding);
  SYRTOS_CHECK(axis.padding < axis.dilation * (axis.kernel - 1) + 1 &&
                   (axis.output - 1) * axis.stride - axis.padding < axis.input,
               "a window covers no input: input = {}, output = {}, kernel = {}, stride = {}, "
               "padding = {}",
               axis.input, axis.output, axis.kernel, axis.stride, axis.padding);
}

// Splits the lines of all images of the input or the output over threads.
template <typename Body>
void for_lines(const PoolShape& shape, bool output, Body&& body) {
  check(shape.height);
  check(shape.width);
  const int64_t lines = output ? shape.height.output : shape.height.input;
  const int64_t work = shape.height.input * shape.width.input * shape.channels / lines;
  parallel_for(shape.batch * lines, 1, kSerialBelow / (work + 1) + 1, body);
}

}  // namespace

PoolShape adaptive_pool_shape(DType dtype, int64_t batch, int64_t height, int64_t width,
                              int64_t channels, int64_t output_height, int64_t output_width) {
  PoolShape shape;
  shape.batch = batch;
  shape.channels = channels;
  shape.height.input = height;
  shape.height.output = output_height;
  shape.height.adaptive = true;
  shape.width.input = width;
  shape.width.output = output_width;
  shape.width.adaptive = true;
  shape.dtype = dtype;
  return shape;
}

void average_pool(const PoolShape& shape, const void* src, void* dst) {
  const auto kernel = kernels().average[index_of(shape.dtype)];
  for_lines(shape, true, [&](int64_t begin, int64_t end) { kernel(shape, begin, end, src, dst); });
}

void average_pool_backward(const PoolShape& shape, const void* diff_dst, void* diff_src) {
  const auto kernel = kernels().average_backward[index_of(shape.dtype)];
  for_lines(shape, false,
            [&](int64_t begin, int64_t end) { kernel(shape, begin, end, diff_dst, diff_src); });
}

void max_pool(const PoolShape& shape, const void* src, void* dst, int32_t* position) {
  const auto kernel = kernels().max[index_of(shape.dtype)];
  for_lines(shape, true,
            [&](int64_t begin, int64_t end) { kernel(shape, begin, end, src, dst, position); });
}

void max_pool_backward(const PoolShape& shape, const void* diff_dst, const int32_t* position,
                       void* diff_src) {
  const auto kernel = kernels().max_backward[index_of(shape.dtype)];
  for_lines(shape, false, [&](int64_t begin, int64_t end) {
    kernel(shape, begin, end, diff_dst, position, diff_src);
  });
}

}  // namespace syrtos::ops::native
