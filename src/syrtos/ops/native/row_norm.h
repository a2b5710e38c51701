#pragma once

#include <cstddef>
#include <cstdint>

#include "syrtos/tensor/dtype.h"

// Layer norm of rows and group norm of channels-last images, f32 or bf16 with f32 statistics. Calls
// block until done, use the threads of syrtos/base/parallel.h and allocate nothing. Results are the
// same in each run with the same number of threads. Scratch is aligned to 64 bytes and sized for
// the present thread count.

namespace syrtos::ops::native {

/// src [rows][size]; gamma, beta [size].
struct LayerNormShape {
  int64_t rows = 0;
  int64_t size = 0;
  DType dtype = DType::f32;
};

/// src [batch][pixels][channels]; gamma, beta [channels]; mean, inv_std [batch][groups].
struct GroupNormShape {
  int64_t batch = 0;
  int64_t pixels = 0;
  int64_t channels = 0;
  int64_t groups = 1;
  DType dtype = DType::f32;
};

struct NormForward {
  const void* src;
  const float* gamma;
  const float* beta;
  float epsilon;
  void* dst;  ///< may be src
  float* mean;
  float* inv_std;
};

struct NormBackward {
  const void* src;
  const float* gamma;
  const float* mean;
  const float* inv_std;
  const void* diff_dst;
  void* diff_src;  ///< may be diff_dst
  float* diff_gamma;
  float* diff_beta;
};

void layer_norm_forward(const LayerNormShape& shape, const NormForward& args);
size_t layer_norm_backward_scratch_bytes(const LayerNormShape& shape);
void layer_norm_backward(const LayerNormShape& shape, const NormBackward& args, void* scratch);

size_t group_norm_scratch_bytes(const GroupNormShape& shape);
void group_norm_forward(const GroupNormShape& shape, const NormForward& args, void* scratch);
void group_norm_backward(const GroupNormShape& shape, const NormBackward& args, void* scratch);

}  // namespace syrtos::ops::native
