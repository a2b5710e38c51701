#pragma once

#include <cstdint>

#include "syrtos/tensor/dtype.h"

// Reorders between plain [N][C][HW] and channels-last [N][HW][C] tensors, with conversion between
// f32 and bf16 on the way. src and dst do not overlap. Calls block until done, use the threads of
// syrtos/base/parallel.h and allocate nothing.

namespace syrtos::ops::native {

/// dst[n][column][row] = src[n][row][column].
void transpose(int64_t batch, int64_t rows, int64_t columns, DType src_dtype, const void* src,
               DType dst_dtype, void* dst);

inline void plain_to_channels_last(int64_t batch, int64_t channels, int64_t pixels, DType src_dtype,
                                   const void* src, DType dst_dtype, void* dst) {
  transpose(batch, channels, pixels, src_dtype, src, dst_dtype, dst);
}
inline void channels_last_to_plain(int64_t batch, int64_t channels, int64_t pixels, DType src_dtype,
                                   const void* src, DType dst_dtype, void* dst) {
  transpose(batch, pixels, channels, src_dtype, src, dst_dtype, dst);
}

}  // namespace syrtos::ops::native
