#pragma once

#include <cstdint>

#include "syrtos/ops/native/kernel_table.h"

namespace syrtos::ops::native {

/// Elements that share one batch of counters (see dropout_mask.h).
inline constexpr int64_t kDropoutGroup = 64;

struct DropoutPart {
  uint32_t key[2];
  uint32_t step, layer;
  uint32_t sample;
  uint32_t threshold;
  float factor;
  int64_t begin, end;  ///< elements within the sample; begin is a multiple of kDropoutGroup
};

struct DropoutKernels {
  /// On a part of one sample; the pointers are to its element 0.
  void (*apply[kElementTypes])(const DropoutPart& part, const void* src, void* dst);
};

SYRTOS_DECLARE_KERNELS(DropoutKernels, dropout_kernels)

}  // namespace syrtos::ops::native
