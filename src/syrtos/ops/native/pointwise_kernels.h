#pragma once

#include <cstdint>

#include "syrtos/ops/native/kernel_table.h"
#include "syrtos/ops/native/pointwise.h"

namespace syrtos::ops::native {

struct PointwiseKernels {
  /// On a range of n elements; inputs whose step is 0 are one number that is repeated.
  void (*run[kPointwiseFunctions][kElementTypes])(int64_t n, const void* const* inputs,
                                                  const int64_t* steps, float alpha, float beta,
                                                  void* dst);
};

SYRTOS_DECLARE_KERNELS(PointwiseKernels, pointwise_kernels)

}  // namespace syrtos::ops::native
