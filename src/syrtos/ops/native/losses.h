#pragma once

#include <cstdint>

#include "syrtos/ops/native/softmax_loss.h"
#include "syrtos/tensor/dtype.h"

// Losses other than the fused softmax + cross-entropy. Sums are in double precision and in a fixed
// order, so results do not depend on the number of threads.

namespace syrtos::ops::native {

/// The mean over rows of -weight * sum_c target[c] * log p[c]; labels must be in range.
float cross_entropy(const CrossEntropyShape& shape, DType dtype, const void* log_probabilities,
                    const int32_t* labels);
/// diff = -weight * target * factor.
void cross_entropy_backward(const CrossEntropyShape& shape, DType dtype, const int32_t* labels,
                            float factor, void* diff);

/// 1/2 * the sum of (prediction - target)^2 over n elements.
double half_squared_error(DType dtype, int64_t n, const void* prediction, const void* target);
/// diff = (prediction - target) * factor.
void half_squared_error_backward(DType dtype, int64_t n, const void* prediction, const void* target,
                                 float factor, void* diff);

/// The sum of a loss over n pairs of a prediction and a target, and diff = its slope * factor.
/// delta is for huber.
enum class ElementLoss { absolute, huber, binary_cross_entropy };
double element_loss(ElementLoss loss, float delta, DType dtype, int64_t n, const void* prediction,
                    const void* target);
void element_loss_backward(ElementLoss loss, float delta, DType dtype, int64_t n,
                           const void* prediction, const void* target, float factor, void* diff);

}  // namespace syrtos::ops::native
