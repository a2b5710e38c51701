#include "syrtos/ops/native/dense.h"

#include <algorithm>

#include "syrtos/base/parallel.h"
#include "syrtos/ops/native/dense_kernels.h"
#include "syrtos/ops/native/dispatch.h"

namespace syrtos::ops::native {
namespace {

// Columns at a time: the panels of src that belong to them stay in a core's second cache.
constexpr int64_t kChunkColumns = 32 * kDenseColumns;

const DenseKernels& kernels() {
  static const DenseKernels& table = SYRTOS_SELECT_KERNELS(dense_kernels);
  return table;
}

constexpr int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

int64_t src_floats(const Dense& p) {
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

bool dense_supported(const Dense& p) { return p.in % 16 == 0; }

// Small results stay in the caches, and long sums make a product like any other.
bool dense_should_use(const Dense& p) {
  return dense_supported(p) && best_isa() >= Isa::avx512 && p.batch <= 256 &&
         p.in * p.out >= (int64_t{1} << 20);
}

size_t dense_backward_weights_scratch_bytes(const Dense& p) {
  const int64_t diff_floats = ceil_div(p.out, kDenseRows) * kDenseRows * p.batch;
  return static_cast<size_t>(src_floats(p) + diff_floats) * sizeof(float);
}

void dense_backward_weights(const Dense& p, const float* src, const float* diff_dst,
                            float* diff_weights, void* scratch) {
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
                       diff_weights + row * p.in, p.in, Put::stream);
      }
    }
  });
}

size_t dense_forward_scratch_bytes(const Dense& p) {
  return static_cast<size_t>(ceil_div(p.batch, kDenseColumns) * kDenseColumns * p.in) *
         sizeof(float);
}

void dense_forward(const Dense& p, const float* src, const float* weights, const float* bias,
                   bool relu, float* dst, void* scratch) {
  auto* packed = static_cast<float*>(scratch);
  const int64_t panels = ceil_div(p.batch, kDenseColumns);
  parallel_for(p.in, 64, 2, [&](int64_t begin, int64_t end) {
    for (int64_t panel = 0; panel < panels; ++panel) {
      float* to = packed + panel * p.in * kDenseColumns;
      for (int64_t c = 0; c < kDenseColumns; ++c) {
        const int64_t n = panel * kDenseColumns + c;
        for (int64_t i = begin; i < end; ++i) {
          to[i * kDenseColumns + c] = n < p.batch ? src[n * p.in + i] : 0.0F;
        }
      }
    }
  });
  parallel_for(ceil_div(p.out, kDenseRows), 1, 2, [&](int64_t begin, int64_t end) {
    alignas(64) float sums[kDenseRows * kDenseColumns];
    for (int64_t row = begin * kDenseRows; row < std::min(p.out, end * kDenseRows);
         row += kDenseRows) {
      const int rows = static_cast<int>(std::min<int64_t>(kDenseRows, p.out - row));
      for (int64_t panel = 0; panel < panels; ++panel) {
        kernels().forward(weights + row * p.in, p.in, rows, packed + panel * p.in * kDenseColumns,
                          p.in, sums);
        const int64_t first = panel * kDenseColumns;
        for (int64_t n = first; n < std::min<int64_t>(p.batch, first + kDenseColumns); ++n) {
          for (int r = 0; r < rows; ++r) {
            float value = sums[r * kDenseColumns + n - first];
            if (bias != nullptr) value += bias[row + r];
            if (relu && value < 0) value = 0;
            dst[n * p.out + row + r] = value;
          }
        }
      }
    }
  });
}

namespace {

constexpr int64_t kDataColumns = 8 * kDenseColumns;  // of diff_src at a time
constexpr int64_t kDataDepth = 128;                  // rows of weights

int64_t data_slot() { return kDataColumns * kDataDepth; }

}  // namespace

size_t dense_backward_data_scratch_bytes(const Dense& p) {
  const int64_t diff = ceil_div(p.batch, kDenseRows) * kDenseRows * p.out;
  return static_cast<size_t>(diff + data_slot() * thread_count()) * sizeof(float);
}

void dense_backward_data(const Dense& p, const float* diff_dst, const float* weights,
                         float* diff_src, void* scratch) {
  auto* packed = static_cast<float*>(scratch);
  const int64_t row_panels = ceil_div(p.batch, kDenseRows);
  float* slots = packed + row_panels * kDenseRows * p.out;
  parallel_for(p.out, 64, 2, [&](int64_t begin, int64_t end) {
    for (int64_t n = 0; n < row_panels * kDenseRows; ++n) {
      float* to = packed + n / kDenseRows * kDenseRows * p.out + n % kDenseRows;
      for (int64_t o = begin; o < end; ++o) {
        to[o * kDenseRows] = n < p.batch ? diff_dst[n * p.out + o] : 0.0F;
      }
    }
  });
  parallel([&](int thread, int threads) {
    float* slot = slots + thread * data_slot();
    const Range own = share_of(p.in, thread, threads, kDenseColumns);
    for (int64_t column = own.begin; column < own.end; column += kDataColumns) {
      const int64_t columns = std::min(kDataColumns, own.end - column);
      for (int64_t o = 0; o < p.out; o += kDataDepth) {
        const int64_t depth = std::min(kDataDepth, p.out - o);
        // Row by row, so that what is read of a row lies together.
        for (int64_t k = 0; k < depth; ++k) {
          const float* from = weights + (o + k) * p.in + column;
          for (int64_t c = 0; c < columns; c += kDenseColumns) {
            std::copy_n(from + c, std::min<int64_t>(kDenseColumns, columns - c),
                        slot + c * depth + k * kDenseColumns);
          }
        }
        for (int64_t n = 0; n < p.batch; n += kDenseRows) {
          kernels().rows(slot, packed + n * p.out + o * kDenseRows, depth, 0, columns,
                         static_cast<int>(std::min<int64_t>(kDenseRows, p.batch - n)),
                         diff_src + n * p.in + column, p.in, o > 0 ? Put::add : Put::store);
        }
      }
    }
  });
}

}  // namespace syrtos::ops::native
