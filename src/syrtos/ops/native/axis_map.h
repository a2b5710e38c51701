#pragma once

#include <cstdint>

#include "syrtos/tensor/dtype.h"

// A sparse linear map along one axis of a dense tensor [outer][columns][inner]. Calls block until
// done, use the threads of syrtos/base/parallel.h and allocate nothing; results do not depend on
// the number of threads.

namespace syrtos::ops::native {

/// dst[o][row][i] = the sum over k from first[row] to first[row + 1] - 1 of
/// weight[k] * src[o][index[k]][i]; f32 or bf16 with f32 sums.
struct AxisMapProblem {
  int64_t outer = 1;
  int64_t columns = 1;
  int64_t rows = 1;
  int64_t inner = 1;
  const int32_t* first = nullptr;
  const int32_t* index = nullptr;
  const float* weight = nullptr;
};

void axis_map(const AxisMapProblem& problem, DType dtype, const void* src, void* dst);

}  // namespace syrtos::ops::native
