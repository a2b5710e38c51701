#include "syrtos/ops/native/axis_map.h"

#include <algorithm>

#include "syrtos/base/parallel.h"
#include "syrtos/ops/native/axis_map_kernels.h"
#include "syrtos/ops/native/dispatch.h"

namespace syrtos::ops::native {
namespace {

constexpr int64_t kSerialBelow = 16 << 10;  // elements that are not worth waking threads

const AxisMapKernels& kernels() {
  static const AxisMapKernels& table = SYRTOS_SELECT_KERNELS(axis_map_kernels);
  return table;
}

}  // namespace

void axis_map(const AxisMapProblem& problem, DType dtype, const void* src, void* dst) {
  const auto kernel = kernels().run[index_of(dtype)];
  const auto size = static_cast<int64_t>(size_of(dtype));
  const int64_t all = problem.outer * problem.rows;
  const int64_t alone = kSerialBelow / problem.inner + 1;
  parallel_for(all, 1, alone, [&](int64_t begin, int64_t end) {
    while (begin < end) {
      const int64_t outer = begin / problem.rows;
      const int64_t row = begin % problem.rows;
      const int64_t last = std::min(problem.rows, row + end - begin);
      kernel(problem, row, last,
             static_cast<const char*>(src) + outer * problem.columns * problem.inner * size,
             static_cast<char*>(dst) + outer * problem.rows * problem.inner * size);
      begin += last - row;
    }
  });
}

}  // namespace syrtos::ops::native
