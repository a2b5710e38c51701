#include "syrtos/ops/native/pointwise.h"

#include <algorithm>

#include "syrtos/base/error.h"
#include "syrtos/base/parallel.h"
#include "syrtos/ops/native/dispatch.h"
#include "syrtos/ops/native/pointwise_kernels.h"

namespace syrtos::ops::native {
namespace {

constexpr int64_t kGrain = 256;
constexpr int64_t kSerialBelow = 8 << 10;  // elements that are not worth waking threads

const PointwiseKernels& kernels() {
  static const PointwiseKernels& table = SYRTOS_SELECT_KERNELS(pointwise_kernels);
  return table;
}

const void* at(const void* p, DType dtype, int64_t i) {
  return static_cast<const char*>(p) + i * static_cast<int64_t>(size_of(dtype));
}

/// Axes of more than one element, those that lie furthest apart in the result first.
std::array<int, Shape::kMaxRank> order_of(const Shape& shape, const Strides& result, int& count) {
  std::array<int, Shape::kMaxRank> order{};
  count = 0;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (shape[axis] > 1) order[static_cast<size_t>(count++)] = axis;
  }
  std::sort(order.begin(), order.begin() + count, [&](int x, int y) {
    return result[static_cast<size_t>(x)] > result[static_cast<size_t>(y)];
  });
  return order;
}

/// Where the operands' rows begin.
void offsets_of(const PointwiseLoop& loop, int64_t row, std::array<int64_t, kMostOperands>& at) {
  at = {};
  for (int axis = loop.rank - 1; axis >= 0; --axis) {
    const auto i = static_cast<size_t>(axis);
    const int64_t index = row % loop.extent[i];
    row /= loop.extent[i];
    for (size_t k = 0; k < loop.operands; ++k) at[k] += index * loop.strides[k][i];
  }
}

}  // namespace

PointwiseLoop pointwise_loop(const Shape& shape, const Strides& result,
                             std::span<const Strides> operands) {
  SYRTOS_CHECK(operands.size() <= kMostOperands, "{} operands", operands.size());
  PointwiseLoop loop;
  loop.operands = operands.size();
  int count = 0;
  const auto order = order_of(shape, result, count);
  if (count == 0) return loop;
  // The innermost axes become one as long as every operand goes on at the same pace.
  const auto last = static_cast<size_t>(order[static_cast<size_t>(count - 1)]);
  loop.inner = shape[static_cast<int>(last)];
  for (size_t k = 0; k < operands.size(); ++k) {
    const int64_t step = operands[k][last];
    SYRTOS_CHECK(step == 0 || step == 1, "step {}: the operands lie as the result does", step);
    loop.steps[k] = step;
  }
  int outer = count - 1;
  for (; outer > 0; --outer) {
    const auto axis = static_cast<size_t>(order[static_cast<size_t>(outer - 1)]);
    bool joins = true;
    for (size_t k = 0; k < operands.size(); ++k) {
      joins = joins && operands[k][axis] == loop.steps[k] * loop.inner;
    }
    if (!joins) break;
    loop.inner *= shape[static_cast<int>(axis)];
  }
  loop.rank = outer;
  for (size_t i = 0; i < static_cast<size_t>(outer); ++i) {
    const int axis = order[i];
    loop.extent[i] = shape[axis];
    loop.outer *= shape[axis];
    for (size_t k = 0; k < operands.size(); ++k) {
      loop.strides[k][i] = operands[k][static_cast<size_t>(axis)];
    }
  }
  return loop;
}

void pointwise(PointwiseFunction function, DType dtype, const PointwiseLoop& loop,
               const void* const* inputs, float alpha, float beta, void* dst) {
  const auto kernel = kernels().run[static_cast<int>(function)][index_of(dtype)];
  const auto run = [&](int64_t row, int64_t begin, int64_t end) {
    std::array<int64_t, kMostOperands> offsets{};
    offsets_of(loop, row, offsets);
    std::array<const void*, kMostOperands> from{};
    for (size_t k = 0; k < loop.operands; ++k) {
      from[k] = at(inputs[k], dtype, offsets[k] + begin * loop.steps[k]);
    }
    void* to = const_cast<void*>(at(dst, dtype, row * loop.inner + begin));
    kernel(end - begin, from.data(), loop.steps.data(), alpha, beta, to);
  };
  if (loop.outer == 1) {
    parallel_for(loop.inner, kGrain, kSerialBelow,
                 [&](int64_t begin, int64_t end) { run(0, begin, end); });
    return;
  }
  const int64_t rows_alone = kSerialBelow / loop.inner + 1;
  parallel_for(loop.outer, 1, rows_alone, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) run(row, 0, loop.inner);
  });
}

}  // namespace syrtos::ops::native
