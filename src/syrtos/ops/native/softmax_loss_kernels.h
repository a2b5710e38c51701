#pragma once

#include <cstdint>

#include "syrtos/ops/native/kernel_table.h"

namespace syrtos::ops::native {

/// All on a range of rows: pointers are to its first row.
struct SoftmaxLossKernels {
  void (*softmax[kElementTypes])(int64_t rows, int64_t classes, const void* src, void* dst);
  void (*log_softmax[kElementTypes])(int64_t rows, int64_t classes, const void* src, void* dst);
  void (*softmax_backward[kElementTypes])(int64_t rows, int64_t classes, const void* dst,
                                          const void* diff_dst, void* diff_src);
  void (*log_softmax_backward[kElementTypes])(int64_t rows, int64_t classes, const void* dst,
                                              const void* diff_dst, void* diff_src);
  /// First index: type of the logits, second: of the probabilities.
  void (*cross_entropy[kElementTypes][kElementTypes])(int64_t rows, int64_t classes,
                                                      float smoothing, const void* logits,
                                                      const int32_t* labels, void* probabilities,
                                                      float* loss);
  /// First index: type of the probabilities, second: of the gradient.
  void (*cross_entropy_backward[kElementTypes][kElementTypes])(int64_t rows, int64_t classes,
                                                               float smoothing,
                                                               const void* probabilities,
                                                               const int32_t* labels, float factor,
                                                               void* diff_logits);
};

SYRTOS_DECLARE_KERNELS(SoftmaxLossKernels, softmax_loss_kernels)

}  // namespace syrtos::ops::native
