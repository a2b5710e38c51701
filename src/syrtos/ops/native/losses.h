#pragma once

#include <cstdint>

#include "syrtos/tensor/dtype.h"

// Losses other than the fused softmax + cross-entropy. Sums are in double precision and in a fixed
// order, so results do not depend on the number of threads.

namespace syrtos::ops::native {

/// The mean over rows of -sum_c target[c] * log p[c]; labels must be in range.
float cross_entropy(DType dtype, int64_t rows, int64_t classes, float smoothing,
                    const void* log_probabilities, const int32_t* labels);
/// diff = -target * factor.
void cross_entropy_backward(DType dtype, int64_t rows, int64_t classes, float smoothing,
                            const int32_t* labels, float factor, void* diff);

/// 1/2 * the sum of (prediction - target)^2 over n elements.
double half_squared_error(DType dtype, int64_t n, const void* prediction, const void* target);
/// diff = (prediction - target) * factor.
void half_squared_error_backward(DType dtype, int64_t n, const void* prediction, const void* target,
                                 float factor, void* diff);

}  // namespace syrtos::ops::native
