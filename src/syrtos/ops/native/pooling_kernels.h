#pragma once

#include <cstdint>

#include "syrtos/ops/native/kernel_table.h"
#include "syrtos/ops/native/pooling.h"

namespace syrtos::ops::native {

/// Each kernel computes the rows [begin, end) of its result; row r is line r % height of image
/// r / height.
struct PoolingKernels {
  void (*average[kElementTypes])(const PoolShape& shape, int64_t begin, int64_t end,
                                 const void* src, void* dst);
  void (*average_backward[kElementTypes])(const PoolShape& shape, int64_t begin, int64_t end,
                                          const void* diff_dst, void* diff_src);
  void (*max[kElementTypes])(const PoolShape& shape, int64_t begin, int64_t end, const void* src,
                             void* dst, int32_t* position);
  void (*max_backward[kElementTypes])(const PoolShape& shape, int64_t begin, int64_t end,
                                      const void* diff_dst, const int32_t* position,
                                      void* diff_src);
};

SYRTOS_DECLARE_KERNELS(PoolingKernels, pooling_kernels)

}  // namespace syrtos::ops::native
