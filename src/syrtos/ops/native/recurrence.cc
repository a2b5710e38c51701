#include "syrtos/ops/native/recurrence.h"

#include <algorithm>

#include "syrtos/base/parallel.h"
#include "syrtos/ops/native/dispatch.h"
#include "syrtos/ops/native/recurrence_kernels.h"

namespace syrtos::ops::native {
namespace {

const RecurrenceKernels& kernels() {
  static const RecurrenceKernels& table = SYRTOS_SELECT_KERNELS(recurrence_kernels);
  return table;
}

constexpr int64_t padded(int64_t columns) {
  return (columns + kPanelColumns - 1) / kPanelColumns * kPanelColumns;
}
constexpr int64_t aligned(int64_t floats) { return (floats + 15) / 16 * 16; }

float as_float(DType dtype, const void* data, int64_t i) {
  return dtype == DType::f32 ? static_cast<const float*>(data)[i]
                             : static_cast<float>(static_cast<const BFloat16*>(data)[i]);
}

/// Weights [rows][columns], or their transpose, as panels of columns with zeros behind the last.
void pack(DType dtype, const void* weights, int64_t rows, int64_t columns, bool transposed,
          float* panels) {
  const int64_t depth = transposed ? columns : rows;
  const int64_t width = transposed ? rows : columns;
  parallel_for(padded(width) / kPanelColumns, 1, 2, [&](int64_t begin, int64_t end) {
    for (int64_t panel = begin; panel < end; ++panel) {
      float* to = panels + panel * kPanelColumns * depth;
      for (int64_t c = 0; c < kPanelColumns; ++c) {
        const int64_t column = panel * kPanelColumns + c;
        for (int64_t k = 0; k < depth; ++k) {
          const int64_t at = transposed ? column * columns + k : k * columns + column;
          to[k * kPanelColumns + c] = column < width ? as_float(dtype, weights, at) : 0.0F;
        }
      }
    }
  });
}

/// Whether products are those of bf16 numbers, of which two lie together.
bool has_halves(const Recurrence& p) {
  return p.dtype == DType::bf16 && p.units % 2 == 0 && kernels().product_of_halves != nullptr;
}

/// As pack(), of bf16 weights in pairs along the depth.
void pack_halves(const uint16_t* weights, int64_t rows, int64_t columns, bool transposed,
                 uint16_t* panels) {
  const int64_t depth = transposed ? columns : rows;
  const int64_t width = transposed ? rows : columns;
  parallel_for(padded(width) / kPanelColumns, 1, 2, [&](int64_t begin, int64_t end) {
    for (int64_t panel = begin; panel < end; ++panel) {
      uint16_t* to = panels + panel * kPanelColumns * depth;
      for (int64_t c = 0; c < kPanelColumns; ++c) {
        const int64_t column = panel * kPanelColumns + c;
        for (int64_t k = 0; k < depth; ++k) {
          const int64_t at = transposed ? column * columns + k : k * columns + column;
          to[k / 2 * 2 * kPanelColumns + 2 * c + k % 2] = column < width ? weights[at] : 0;
        }
      }
    }
  });
}

/// The weights of all steps, packed for their products: of rows in f32, or of the same in bf16.
class Packed {
 public:
  Packed(const Recurrence& p, const void* weights, bool transposed, float* panels)
      : panels_(panels), halves_(has_halves(p)) {
    const int64_t rows = p.gates() * p.units;
    depth_ = transposed ? p.units : rows;
    columns_ = padded(transposed ? rows : p.units);
    if (halves_) {
      pack_halves(static_cast<const uint16_t*>(weights), rows, p.units, transposed,
                  reinterpret_cast<uint16_t*>(panels));
    } else {
      pack(p.dtype, weights, rows, p.units, transposed, panels);
    }
  }

  /// Of `count` rows, neighbours in memory, into rows of columns() each.
  void times(const float* rows, const void* rows_in_bf16, int64_t count, float* result) const {
    if (halves_) {
      kernels().product_of_halves(static_cast<const uint16_t*>(rows_in_bf16), depth_, count,
                                  reinterpret_cast<const uint16_t*>(panels_), depth_, columns_,
                                  result, columns_);
    } else {
      kernels().product(rows, depth_, count, panels_, depth_, columns_, result, columns_);
    }
  }

 private:
  const float* panels_;
  bool halves_;
  int64_t depth_ = 0;
  int64_t columns_ = 0;
};

/// An element of a tensor of either type.
const void* element(DType dtype, const void* data, int64_t i) {
  return static_cast<const char*>(data) + i * static_cast<int64_t>(size_of(dtype));
}
void* element(DType dtype, void* data, int64_t i) {
  return static_cast<char*>(data) + i * static_cast<int64_t>(size_of(dtype));
}

int64_t forward_panels(const Recurrence& p) {
  return aligned(padded(p.gates() * p.units) * p.units);
}
int64_t backward_panels(const Recurrence& p) {
  return aligned(padded(p.units) * p.gates() * p.units);
}

/// The k-th step that is walked.
int64_t step_at(const Recurrence& p, int64_t k) { return p.reverse ? p.steps - 1 - k : k; }

}  // namespace

int64_t find_bad_length(const Recurrence& p, const int32_t* lengths) {
  for (int64_t n = 0; n < p.batch; ++n) {
    if (lengths[n] < 0 || lengths[n] > p.steps) return n;
  }
  return -1;
}

size_t recurrence_forward_scratch_bytes(const Recurrence& p) {
  const int64_t states = 2 * aligned(p.batch * p.units);
  return static_cast<size_t>(forward_panels(p) + states + p.batch * padded(p.gates() * p.units)) *
         sizeof(float);
}

void recurrence_forward(const Recurrence& p, const RecurrenceForward& x, void* scratch) {
  const int64_t columns = p.gates() * p.units;
  const int64_t pitch = padded(columns);
  auto* panels = static_cast<float*>(scratch);
  float* h = panels + forward_panels(p);
  float* c = h + aligned(p.batch * p.units);
  float* products = c + aligned(p.batch * p.units);
  const Packed packed(p, x.weights, true, panels);
  const auto cell_of = kernels().forward[index_of(p.dtype)][static_cast<int>(p.kind)];
  parallel_for(p.batch, 1, 2, [&](int64_t begin, int64_t end) {
    const int64_t rows = end - begin;
    CellForward cell{.rows = rows, .units = p.units, .pitch = pitch, .bias = x.bias};
    cell.h = h + begin * p.units;
    cell.c = p.kind == CellKind::lstm ? c + begin * p.units : nullptr;
    std::fill_n(cell.h, rows * p.units, 0.0F);
    if (cell.c != nullptr) std::fill_n(cell.c, rows * p.units, 0.0F);
    if (x.lengths != nullptr) cell.lengths = x.lengths + begin;
    float* sums = products + begin * pitch;
    std::fill_n(sums, rows * pitch, 0.0F);
    cell.products = sums;
    for (int64_t k = 0; k < p.steps; ++k) {
      cell.step = step_at(p, k);
      const int64_t row = cell.step * p.batch + begin;
      // Before the first step the state is 0, and so are its products.
      // `hidden` is still that of the step before.
      if (k > 0) packed.times(cell.h, cell.hidden, rows, sums);
      cell.projected = element(p.dtype, x.projected, row * columns);
      cell.hidden = element(p.dtype, x.hidden, row * p.units);
      cell.kept = x.kept == nullptr ? nullptr : x.kept + row * p.kept() * p.units;
      cell_of(cell);
    }
  });
}

size_t recurrence_backward_scratch_bytes(const Recurrence& p) {
  const int64_t states = aligned(p.batch * padded(p.units)) + aligned(p.batch * p.units);
  return static_cast<size_t>(backward_panels(p) + states + p.batch * p.gates() * p.units) *
             sizeof(float) +
         static_cast<size_t>(aligned(p.batch * p.units)) * sizeof(float);
}

void recurrence_backward(const Recurrence& p, const RecurrenceBackward& x, void* scratch) {
  const int64_t columns = p.gates() * p.units;
  const int64_t pitch = padded(p.units);
  auto* panels = static_cast<float*>(scratch);
  float* products = panels + backward_panels(p);
  float* dh = products + aligned(p.batch * pitch);
  float* dc = dh + aligned(p.batch * p.units);
  float* recurrent = dc + aligned(p.batch * p.units);
  const Packed packed(p, x.weights, false, panels);
  const auto cell_of = kernels().backward[index_of(p.dtype)][static_cast<int>(p.kind)];
  parallel_for(p.batch, 1, 2, [&](int64_t begin, int64_t end) {
    const int64_t rows = end - begin;
    CellBackward cell{.rows = rows, .units = p.units};
    cell.dh = dh + begin * p.units;
    cell.dc = p.kind == CellKind::lstm ? dc + begin * p.units : nullptr;
    cell.recurrent = recurrent + begin * columns;
    std::fill_n(cell.dh, rows * p.units, 0.0F);
    if (cell.dc != nullptr) std::fill_n(cell.dc, rows * p.units, 0.0F);
    if (x.lengths != nullptr) cell.lengths = x.lengths + begin;
    float* sums = products + begin * pitch;
    for (int64_t k = p.steps - 1; k >= 0; --k) {
      cell.step = step_at(p, k);
      const int64_t row = cell.step * p.batch + begin;
      const int64_t before = k == 0 ? -1 : step_at(p, k - 1) * p.batch + begin;
      cell.hidden = element(p.dtype, x.hidden, row * p.units);
      cell.hidden_before = k == 0 ? nullptr : element(p.dtype, x.hidden, before * p.units);
      cell.kept = x.kept == nullptr ? nullptr : x.kept + row * p.kept() * p.units;
      cell.kept_before =
          x.kept == nullptr || k == 0 ? nullptr : x.kept + before * p.kept() * p.units;
      cell.diff_hidden = element(p.dtype, x.diff_hidden, row * p.units);
      cell.diff = element(p.dtype, x.diff_projected, row * columns);
      cell.stored = x.recurrent == nullptr ? nullptr : element(p.dtype, x.recurrent, row * columns);
      cell_of(cell);
      if (k == 0) break;
      packed.times(cell.recurrent, cell.stored == nullptr ? cell.diff : cell.stored, rows, sums);
      const bool passes_by = p.kind == CellKind::gru;
      for (int64_t r = 0; r < rows; ++r) {
        float* to = cell.dh + r * p.units;
        const float* from = sums + r * pitch;
        for (int64_t j = 0; j < p.units; ++j) to[j] = passes_by ? to[j] + from[j] : from[j];
      }
    }
  });
}

}  // namespace syrtos::ops::native
