#pragma once

#include <cstdint>

#include "syrtos/tensor/dtype.h"

// Elements by computed indices. Calls block until done, use the threads of syrtos/base/parallel.h
// and allocate nothing; results do not depend on the number of threads.

namespace syrtos::ops::native {

struct GatherShape {
  int64_t outer = 1;
  int64_t rows = 1;   ///< of src, along the axis
  int64_t count = 1;  ///< of indices
  int64_t inner = 1;
};

/// The first index that is not in [-rows, rows), or -1.
int64_t find_bad_index(const GatherShape& shape, const int32_t* indices);

/// The nearest whole numbers; what s32 does not hold becomes its least number.
void to_indices(DType dtype, int64_t count, const void* src, int32_t* dst);

/// dst[o][i] = src[o][indices[i]], `inner` neighbours each. Indices are in range.
void gather(const GatherShape& shape, DType dtype, const void* src, const int32_t* indices,
            void* dst);

/// diff_src[o][row] = the sum of diff_dst[o][i] over all i with indices[i] = row.
void gather_backward(const GatherShape& shape, DType dtype, const int32_t* indices,
                     const void* diff_dst, float* diff_src);

}  // namespace syrtos::ops::native
