#pragma once

#include <cstdint>

#include "syrtos/tensor/dtype.h"

// Softmax over the last axis of [rows][classes] and the cross-entropy loss on top of it. Tensors
// are f32 or bf16, arithmetic is f32, losses are f32. Calls block until done, use the threads of
// syrtos/base/parallel.h and allocate nothing; results do not depend on the number of threads.

namespace syrtos::ops::native {

/// dst may be src.
void softmax(DType dtype, int64_t rows, int64_t classes, const void* src, void* dst);
void log_softmax(DType dtype, int64_t rows, int64_t classes, const void* src, void* dst);

/// diff_src = dst * (diff_dst - sum(dst * diff_dst)), from the result dst. diff_src may be
/// diff_dst.
void softmax_backward(DType dtype, int64_t rows, int64_t classes, const void* dst,
                      const void* diff_dst, void* diff_src);
/// diff_src = diff_dst - exp(dst) * sum(diff_dst), from the result dst. diff_src may be diff_dst.
void log_softmax_backward(DType dtype, int64_t rows, int64_t classes, const void* dst,
                          const void* diff_dst, void* diff_src);

struct CrossEntropyShape {
  int64_t rows = 0;
  int64_t classes = 0;
  float smoothing =
      0;  ///< target = 1 - smoothing for the label plus smoothing / classes everywhere
  const float* class_weights = nullptr;  ///< what samples of each class weigh; null: 1

  float weight(int32_t label) const {
    return class_weights == nullptr ? 1.0F : class_weights[label];
  }
};

/// The first row whose label is not in [0, classes), or -1.
int64_t find_bad_label(const CrossEntropyShape& shape, const int32_t* labels);

/// loss[row] = -weight * sum_c target[c] * log p[c] with p = softmax(logits); probabilities (may be
/// logits if of the same type) and loss may each be null. Returns the first row with a label out of
/// range, having computed nothing, or -1.
struct SoftmaxCrossEntropy {
  DType logits_dtype;
  const void* logits;
  const int32_t* labels;
  DType probabilities_dtype;
  void* probabilities;
  float* loss;       ///< of each row
  float* mean_loss;  ///< one value; may be null
};
int64_t softmax_cross_entropy(const CrossEntropyShape& shape, const SoftmaxCrossEntropy& args);

/// diff_logits = (p - target) * weight * factor; with factor = 1 / rows the gradient of the mean
/// loss. Returns the first row with a label out of range, having computed nothing, or -1.
int64_t softmax_cross_entropy_backward(const CrossEntropyShape& shape, DType probabilities_dtype,
                                       const void* probabilities, const int32_t* labels,
                                       float factor, DType diff_dtype, void* diff_logits);

}  // namespace syrtos::ops::native
