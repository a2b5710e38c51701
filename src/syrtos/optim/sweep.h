#pragma once

#include <cstdint>

namespace syrtos::optim {

/// One stretch of the arenas and the step's coefficients, everything that does not depend on the
/// element already worked out.
struct Sweep {
  float* weights = nullptr;
  const float* gradients = nullptr;
  float* slot0 = nullptr;
  float* slot1 = nullptr;
  int64_t n = 0;
  float gradient_scale = 1;
  float decay = 0;   ///< added to the gradient times the weight
  float shrink = 1;  ///< the weight is multiplied by it first (adamw)
  float rate = 0;    ///< learning rate, with adam's correction of the first moment
  float a = 0;       ///< momentum, beta1 or rho
  float b = 0;       ///< beta2
  float root = 1;    ///< adam: 1 / sqrt(1 - beta2^t)
  float epsilon = 0;
};

/// Kernels of one instruction set; they know nothing of threads.
struct SweepKernels {
  void (*sgd)(const Sweep& sweep);
  void (*momentum)(const Sweep& sweep);
  void (*nesterov)(const Sweep& sweep);
  void (*adam)(const Sweep& sweep);
  void (*adagrad)(const Sweep& sweep);
  void (*adadelta)(const Sweep& sweep);
  /// slow += part * (fast - slow);  fast = slow
  void (*look_ahead)(float* fast, float* slow, float part, int64_t n);
  /// Rounds n floats to bf16. With `stream` it bypasses the cache where it can, which saves reading
  /// what is overwritten.
  void (*round)(const float* from, uint16_t* to, int64_t n, bool stream);
  /// Sum of squares in double precision, in an order that depends on n alone.
  double (*sum_of_squares)(const float* values, int64_t n);
};

/// The kernels for this CPU.
const SweepKernels& sweep_kernels();

}  // namespace syrtos::optim
