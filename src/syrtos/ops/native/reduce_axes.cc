#include "syrtos/ops/native/reduce_axes.h"

#include <algorithm>
#include <cmath>

#include "syrtos/base/parallel.h"
#include "syrtos/ops/native/dispatch.h"
#include "syrtos/ops/native/reduce_axes_kernels.h"
#include "syrtos/ops/native/reduction.h"
#include "syrtos/tensor/buffer.h"

namespace syrtos::ops::native {
namespace {

constexpr int64_t kColumns = 512;           // that are summed up at a time, beside each other
constexpr int64_t kSerialBelow = 16 << 10;  // elements that are not worth waking threads

const ReduceAxesKernels& kernels() {
  static const ReduceAxesKernels& table = SYRTOS_SELECT_KERNELS(reduce_axes_kernels);
  return table;
}

const void* at(const void* p, DType dtype, int64_t i) {
  return static_cast<const char*>(p) + i * static_cast<int64_t>(size_of(dtype));
}
void* at(void* p, DType dtype, int64_t i) {
  return static_cast<char*>(p) + i * static_cast<int64_t>(size_of(dtype));
}

/// The axes but the innermost one, of one kind, with their strides in src.
struct Nest {
  int rank = 0;
  int64_t count = 1;
  std::array<int64_t, Shape::kMaxRank> extent{};
  std::array<int64_t, Shape::kMaxRank> stride{};

  Nest(const ReduceLoop& loop, bool kept) {
    int64_t step = loop.rank == 0 ? 1 : loop.extent[static_cast<size_t>(loop.rank - 1)];
    for (int axis = loop.rank - 2; axis >= 0; --axis) {
      const auto i = static_cast<size_t>(axis);
      if (loop.kept[i] == kept) {
        extent[static_cast<size_t>(rank)] = loop.extent[i];
        stride[static_cast<size_t>(rank++)] = step;
        count *= loop.extent[i];
      }
      step *= loop.extent[i];
    }
  }
  /// Where the index-th of them begins.
  int64_t offset(int64_t index) const {
    int64_t sum = 0;
    for (size_t i = 0; i < static_cast<size_t>(rank); ++i) {
      sum += index % extent[i] * stride[i];
      index /= extent[i];
    }
    return sum;
  }
};

bool is_column_sum(const ReduceAxes& problem) {
  return !problem.max && problem.loop.rank == 2 && !problem.loop.kept[0];
}

/// Rows of neighbours are reduced to one number each.
void reduce_rows(const ReduceAxes& problem, const void* src, void* dst) {
  const Nest kept(problem.loop, true);
  const Nest reduced(problem.loop, false);
  const int64_t n = problem.loop.extent[static_cast<size_t>(problem.loop.rank - 1)];
  const int from = index_of(problem.src_dtype);
  const auto row = problem.max ? kernels().max_row[from] : kernels().sum_row[from];
  const auto store = kernels().scale[index_of(problem.dst_dtype)];
  const int64_t alone = kSerialBelow / std::max<int64_t>(1, n * reduced.count) + 1;
  parallel_for(kept.count, 1, alone, [&](int64_t begin, int64_t end) {
    for (int64_t k = begin; k < end; ++k) {
      const int64_t base = kept.offset(k);
      double total = problem.max ? -INFINITY : 0.0;
      for (int64_t r = 0; r < reduced.count; ++r) {
        const double part = row(n, at(src, problem.src_dtype, base + reduced.offset(r)));
        total = problem.max ? std::max(total, part) : total + part;
      }
      const auto result = static_cast<float>(total);
      store(1, &result, problem.scale, at(dst, problem.dst_dtype, k));
    }
  });
}

/// Rows are reduced with each other, some columns at a time.
void reduce_columns(const ReduceAxes& problem, const void* src, void* dst) {
  const Nest kept(problem.loop, true);
  const Nest reduced(problem.loop, false);
  const int64_t n = problem.loop.extent[static_cast<size_t>(problem.loop.rank - 1)];
  const int from = index_of(problem.src_dtype);
  const auto join = problem.max ? kernels().max_to[from] : kernels().add_to[from];
  const auto store = kernels().scale[index_of(problem.dst_dtype)];
  const int64_t pieces = (n + kColumns - 1) / kColumns;
  const int64_t alone = kSerialBelow / std::max<int64_t>(1, n / pieces * reduced.count) + 1;
  parallel_for(kept.count * pieces, 1, alone, [&](int64_t begin, int64_t end) {
    alignas(64) std::array<float, kColumns> total;
    for (int64_t item = begin; item < end; ++item) {
      const int64_t k = item / pieces;
      const int64_t column = item % pieces * kColumns;
      const int64_t width = std::min(kColumns, n - column);
      const int64_t base = kept.offset(k) + column;
      std::fill_n(total.data(), width, problem.max ? -INFINITY : 0.0F);
      for (int64_t r = 0; r < reduced.count; ++r) {
        join(width, at(src, problem.src_dtype, base + reduced.offset(r)), total.data());
      }
      store(width, total.data(), problem.scale, at(dst, problem.dst_dtype, k * n + column));
    }
  });
}

}  // namespace

ReduceLoop reduce_loop(std::span<const ReduceAxis> axes) {
  ReduceLoop loop;
  for (const ReduceAxis& axis : axes) {
    if (axis.extent == 1) continue;
    const auto last = static_cast<size_t>(loop.rank - 1);
    if (loop.rank > 0 && loop.kept[last] == axis.kept) {
      loop.extent[last] *= axis.extent;
    } else {
      loop.extent[static_cast<size_t>(loop.rank)] = axis.extent;
      loop.kept[static_cast<size_t>(loop.rank++)] = axis.kept;
    }
  }
  if (loop.rank == 0) {
    loop.extent[0] = 1;
    loop.rank = 1;
  }
  return loop;
}

size_t reduce_axes_scratch_bytes(const ReduceAxes& problem) {
  if (!is_column_sum(problem)) return 0;
  const int64_t columns = problem.loop.extent[1];
  return align_up(static_cast<size_t>(columns) * sizeof(float)) +
         static_cast<size_t>(bias_gradient_scratch_bytes(columns));
}

void reduce_axes(const ReduceAxes& problem, const void* src, void* dst, void* scratch) {
  if (is_column_sum(problem)) {
    const int64_t columns = problem.loop.extent[1];
    auto* sums = static_cast<float*>(scratch);
    void* rest =
        static_cast<char*>(scratch) + align_up(static_cast<size_t>(columns) * sizeof(float));
    bias_gradient(problem.src_dtype, problem.loop.extent[0], columns, src, sums, rest);
    kernels().scale[index_of(problem.dst_dtype)](columns, sums, problem.scale, dst);
  } else if (problem.loop.kept[static_cast<size_t>(problem.loop.rank - 1)]) {
    reduce_columns(problem, src, dst);
  } else {
    reduce_rows(problem, src, dst);
  }
}

}  // namespace syrtos::ops::native
