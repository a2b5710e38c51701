#pragma once

#include <cstddef>
#include <cstdint>

#include "syrtos/tensor/dtype.h"

// Recurrent layers along sequences: what depends on the state. Each thread walks all steps with its
// own samples, so that threads never wait for each other; the weights lie packed for its products.
// Elements are f32 or bf16, states and sums f32; where the CPU multiplies bf16, products are those
// of bf16 elements. Calls block until done, use the threads of syrtos/base/parallel.h and allocate
// nothing; results do not depend on the number of threads. Scratch is aligned to 64 bytes.

namespace syrtos::ops::native {

enum class CellKind : uint8_t { rnn_tanh, rnn_relu, lstm, gru };  ///< as ops::RecurrenceKind

struct Recurrence {
  CellKind kind = CellKind::lstm;
  bool reverse = false;
  int64_t steps = 1;
  int64_t batch = 1;
  int64_t units = 1;
  DType dtype = DType::f32;

  int64_t gates() const { return kind == CellKind::lstm ? 4 : kind == CellKind::gru ? 3 : 1; }
  int64_t kept() const { return kind == CellKind::lstm ? 5 : kind == CellKind::gru ? 4 : 0; }
};

/// The first length that is not from 0 to the number of steps, or -1.
int64_t find_bad_length(const Recurrence& problem, const int32_t* lengths);

struct RecurrenceForward {
  const void* projected = nullptr;   ///< [steps][batch][gates * units]
  const void* weights = nullptr;     ///< [gates * units][units]
  const float* bias = nullptr;       ///< [gates * units]
  const int32_t* lengths = nullptr;  ///< [batch], or null
  void* hidden = nullptr;            ///< [steps][batch][units]
  float* kept = nullptr;             ///< [steps][batch][kept * units]
};
size_t recurrence_forward_scratch_bytes(const Recurrence& problem);
void recurrence_forward(const Recurrence& problem, const RecurrenceForward& x, void* scratch);

struct RecurrenceBackward {
  const void* weights = nullptr;
  const void* hidden = nullptr;
  const float* kept = nullptr;
  const void* diff_hidden = nullptr;
  const int32_t* lengths = nullptr;
  void* diff_projected = nullptr;
  void* recurrent = nullptr;  ///< gradient of weights h + bias where it is another: of gru
};
/// The gradients of the weights and the bias are products and sums of `recurrent` (or
/// diff_projected), which are for the caller.
size_t recurrence_backward_scratch_bytes(const Recurrence& problem);
void recurrence_backward(const Recurrence& problem, const RecurrenceBackward& x, void* scratch);

}  // namespace syrtos::ops::native
