#include "syrtos/ops/native/dense_wgrad.h"

#include <algorithm>

#include "syrtos/base/parallel.h"
#include "syrtos/ops/native/dense_wgrad_kernels.h"
#include "syrtos/ops/native/dispatch.h"

namespace syrtos::ops::native {
namespace {

// Columns at a time: the panels of src that belong to them stay in a core's second cache.
constexpr int64_t kChunkColumns = 32 * kDenseColumns;

const DenseWgradKernels& kernels() {
  static const DenseWgradKernels& table = SYRTOS_SELECT_KERNELS(dense_wgrad_kernels);
  return table;
}

constexpr int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

int64_t src_floats(const DenseWgrad& p) {
  return ceil_div(p.in, kDenseColumns) * kDenseColumns * p.batch;
}

/// Columns [begin, end) of a row-major matrix, at most `width`, as a panel [batch][width].
void pack_panel(const float* from, int64_t pitch, int64_t batch, int64_t columns, int64_t width,
                float* to) {
  for (int64_t n = 0; n < batch; ++n) {
    std::copy_n(from + n * pitch, columns, to + n * width);
    std::fill_n(to + n * width + columns, width - columns, 0.0F);
  }
}

}  // namespace

bool dense_wgrad_supported(const DenseWgrad& p) { return p.in % 16 == 0; }

// Small results stay in the caches, and long sums make a product like any other.
bool dense_wgrad_should_use(const DenseWgrad& p) {
  return dense_wgrad_supported(p) && best_isa() >= Isa::avx512 && p.batch <= 256 &&
         p.in * p.out >= (int64_t{1} << 20);
}

size_t dense_wgrad_scratch_bytes(const DenseWgrad& p) {
  const int64_t diff_floats = ceil_div(p.out, kDenseRows) * kDenseRows * p.batch;
  return static_cast<size_t>(src_floats(p) + diff_floats) * sizeof(float);
}

void dense_wgrad(const DenseWgrad& p, const float* src, const float* diff_dst, float* diff_weights,
                 void* scratch) {
  auto* packed_src = static_cast<float*>(scratch);
  float* packed_diff = packed_src + src_floats(p);
  const int64_t src_panels = ceil_div(p.in, kDenseColumns);
  const int64_t row_panels = ceil_div(p.out, kDenseRows);
  parallel_for(src_panels + row_panels, 1, 2, [&](int64_t begin, int64_t end) {
    for (int64_t panel = begin; panel < end; ++panel) {
      const bool of_src = panel < src_panels;
      const int64_t width = of_src ? kDenseColumns : kDenseRows;
      const int64_t all = of_src ? p.in : p.out;
      const int64_t column = (of_src ? panel : panel - src_panels) * width;
      pack_panel((of_src ? src : diff_dst) + column, all, p.batch, std::min(width, all - column),
                 width, (of_src ? packed_src : packed_diff) + column * p.batch);
    }
  });
  parallel_for(row_panels, 1, 2, [&](int64_t begin, int64_t end) {
    for (int64_t column = 0; column < p.in; column += kChunkColumns) {
      for (int64_t panel = begin; panel < end; ++panel) {
        const int64_t row = panel * kDenseRows;
        kernels().rows(packed_src, packed_diff + row * p.batch, p.batch, column,
                       std::min(p.in, column + kChunkColumns),
                       static_cast<int>(std::min<int64_t>(kDenseRows, p.out - row)),
                       diff_weights + row * p.in, p.in);
      }
    }
  });
}

}  // namespace syrtos::ops::native
