#include "syrtos/ops/native/elementwise.h"

#include "syrtos/base/parallel.h"
#include "syrtos/ops/native/dispatch.h"
#include "syrtos/ops/native/elementwise_kernels.h"

namespace syrtos::ops::native {
namespace {

constexpr int64_t kGrain = 256;                  // shares begin at whole cache lines
constexpr int64_t kSerialBelow = 16 << 10;       // elements that are not worth waking threads
constexpr int64_t kSerialBelowCostly = 4 << 10;  // the same where each takes an exponential

const ElementwiseKernels& kernels() {
  static const ElementwiseKernels& table = SYRTOS_SELECT_KERNELS(elementwise_kernels);
  return table;
}

// The address of element i.
const void* at(const void* p, DType dtype, int64_t i) {
  return static_cast<const char*>(p) + i * static_cast<int64_t>(size_of(dtype));
}
void* at(void* p, DType dtype, int64_t i) {
  return static_cast<char*>(p) + i * static_cast<int64_t>(size_of(dtype));
}

void unary(UnaryFunction function, DType dtype, int64_t n, const void* src, void* dst) {
  const auto kernel = kernels().unary[function][index_of(dtype)];
  const int64_t serial_below = function == kRelu ? kSerialBelow : kSerialBelowCostly;
  parallel_for(n, kGrain, serial_below, [&](int64_t begin, int64_t end) {
    kernel(end - begin, at(src, dtype, begin), at(dst, dtype, begin));
  });
}

void binary(BinaryFunction function, DType dtype, int64_t n, const void* a, const void* b,
            void* dst) {
  const auto kernel = kernels().binary[function][index_of(dtype)];
  parallel_for(n, kGrain, kSerialBelow, [&](int64_t begin, int64_t end) {
    kernel(end - begin, at(a, dtype, begin), at(b, dtype, begin), at(dst, dtype, begin));
  });
}

}  // namespace

void relu(DType dtype, int64_t n, const void* src, void* dst) { unary(kRelu, dtype, n, src, dst); }
void sigmoid(DType dtype, int64_t n, const void* src, void* dst) {
  unary(kSigmoid, dtype, n, src, dst);
}
void tanh(DType dtype, int64_t n, const void* src, void* dst) { unary(kTanh, dtype, n, src, dst); }

void gelu(DType dtype, int64_t n, const void* src, void* dst) { unary(kGelu, dtype, n, src, dst); }

void relu_backward(DType dtype, int64_t n, const void* dst, const void* diff_dst, void* diff_src) {
  binary(kReluBackward, dtype, n, dst, diff_dst, diff_src);
}
void sigmoid_backward(DType dtype, int64_t n, const void* dst, const void* diff_dst,
                      void* diff_src) {
  binary(kSigmoidBackward, dtype, n, dst, diff_dst, diff_src);
}
void tanh_backward(DType dtype, int64_t n, const void* dst, const void* diff_dst, void* diff_src) {
  binary(kTanhBackward, dtype, n, dst, diff_dst, diff_src);
}
void gelu_backward(DType dtype, int64_t n, const void* src, const void* diff_dst, void* diff_src) {
  binary(kGeluBackward, dtype, n, src, diff_dst, diff_src);
}

void add(DType dtype, int64_t n, const void* a, const void* b, void* dst) {
  binary(kAdd, dtype, n, a, b, dst);
}
void add_relu(DType dtype, int64_t n, const void* a, const void* b, void* dst) {
  binary(kAddRelu, dtype, n, a, b, dst);
}
void multiply(DType dtype, int64_t n, const void* a, const void* b, void* dst) {
  binary(kMultiply, dtype, n, a, b, dst);
}

void scale(DType dtype, int64_t n, const void* src, float factor, void* dst) {
  const auto kernel = kernels().scale[index_of(dtype)];
  parallel_for(n, kGrain, kSerialBelow, [&](int64_t begin, int64_t end) {
    kernel(end - begin, at(src, dtype, begin), factor, at(dst, dtype, begin));
  });
}

void fill(DType dtype, int64_t n, float value, void* dst) {
  const auto kernel = kernels().fill[index_of(dtype)];
  parallel_for(n, kGrain, kSerialBelow, [&](int64_t begin, int64_t end) {
    kernel(end - begin, value, at(dst, dtype, begin));
  });
}

void add_n(DType dtype, int64_t n, int count, const void* const* src, void* dst) {
  SYRTOS_CHECK(count >= 1, "count = {}", count);
  const auto kernel = kernels().add_n[index_of(dtype)];
  parallel_for(n, kGrain, kSerialBelow,
               [&](int64_t begin, int64_t end) { kernel(begin, end, count, src, dst); });
}

void bias_add(DType dtype, int64_t rows, int64_t channels, const void* src, const float* bias,
              bool relu, void* dst) {
  if (channels == 0) return;
  const auto kernel = kernels().bias_add[index_of(dtype)];
  parallel_for(rows, 1, kSerialBelow / channels + 1, [&](int64_t begin, int64_t end) {
    const int64_t offset = begin * channels;
    kernel(end - begin, channels, at(src, dtype, offset), bias, relu, at(dst, dtype, offset));
  });
}

void convert(DType src_dtype, DType dst_dtype, int64_t n, const void* src, void* dst) {
  if (src == dst && src_dtype == dst_dtype) return;
  const auto kernel = kernels().convert[index_of(src_dtype)][index_of(dst_dtype)];
  parallel_for(n, kGrain, kSerialBelow, [&](int64_t begin, int64_t end) {
    kernel(end - begin, at(src, src_dtype, begin), at(dst, dst_dtype, begin));
  });
}

}  // namespace syrtos::ops::native
