#pragma once

#include <cstdint>

#include "syrtos/ops/native/kernel_table.h"

namespace syrtos::ops::native {

inline constexpr int kPanelColumns = 32;  ///< of a packed matrix, next to each other

/// The cells in the order of ops::RecurrenceKind.
inline constexpr int kCells = 4;

/// Rows (samples) of one step, one after the other in all arrays.
struct CellForward {
  int64_t rows = 0;
  int64_t units = 0;
  const void* projected = nullptr;  ///< [rows][gates * units]
  const float* products = nullptr;  ///< weights h, [rows][pitch]
  int64_t pitch = 0;
  const float* bias = nullptr;
  const int32_t* lengths = nullptr;  ///< of the rows; null: all are long enough
  int64_t step = 0;
  float* h = nullptr;  ///< [rows][units]: of the step before, then of this one
  float* c = nullptr;  ///< the same of lstm's cells
  void* hidden = nullptr;
  float* kept = nullptr;
};

struct CellBackward {
  int64_t rows = 0;
  int64_t units = 0;
  const void* hidden = nullptr;         ///< of this step
  const void* hidden_before = nullptr;  ///< null: it is the first, and before it everything is 0
  const float* kept = nullptr;
  const float* kept_before = nullptr;
  const void* diff_hidden = nullptr;
  const int32_t* lengths = nullptr;
  int64_t step = 0;
  float* dh = nullptr;  ///< from the step after; then the share that passes by the weights
  float* dc = nullptr;
  float* recurrent = nullptr;  ///< gradient of weights h + bias, [rows][gates * units]
  void* diff = nullptr;        ///< of projected
  void* stored = nullptr;      ///< the former as elements; null: it is `diff`, or not wanted
};

struct RecurrenceKernels {
  /// result[r] (pitch apart) = rows[r][depth] * matrix [depth][columns], which lies in panels
  /// [columns / 32][depth][32]. Columns are a multiple of 32.
  void (*product)(const float* rows, int64_t row_pitch, int64_t count, const float* panels,
                  int64_t depth, int64_t columns, float* result, int64_t pitch);
  /// The same of bf16 rows and panels [columns / 32][depth / 2][32][2], whose depth is even; null
  /// where the CPU has no such products.
  void (*product_of_halves)(const uint16_t* rows, int64_t row_pitch, int64_t count,
                            const uint16_t* panels, int64_t depth, int64_t columns, float* result,
                            int64_t pitch);
  void (*forward[kElementTypes][kCells])(const CellForward& cell);
  void (*backward[kElementTypes][kCells])(const CellBackward& cell);
};

SYRTOS_DECLARE_KERNELS(RecurrenceKernels, recurrence_kernels)

}  // namespace syrtos::ops::native
