#pragma once

#include <cstdint>

#include "syrtos/base/dropout_mask.h"
#include "syrtos/tensor/dtype.h"

namespace syrtos::ops::native {

/// Dropout of [samples][inner]: sets elements to zero with probability `rate` and scales the others
/// by 1 / (1 - rate). The mask is that of syrtos/base/dropout_mask.h for the samples first_sample,
/// first_sample + 1 ..., so it does not depend on threads or on which worker holds a sample; the
/// gradient is the same function of diff_dst, with the same stream. dst may be src; 0 <= rate < 1.
/// Blocks until done, uses the threads of syrtos/base/parallel.h and allocates nothing.
void dropout(const DropoutStream& stream, float rate, DType dtype, int64_t samples, int64_t inner,
             int64_t first_sample, const void* src, void* dst);

}  // namespace syrtos::ops::native
