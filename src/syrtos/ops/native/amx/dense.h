#pragma once

#include <cstddef>
#include <cstdint>

// The three products of a dense layer in bf16 on AMX's tiles, with sums in f32: weights [out][in],
// src [batch][in], dst [batch][out], all row-major. With batches of tens of rows they are bound by
// reading the weights, or writing their gradient, once, and are arranged for that. Calls block
// until done, use the threads of syrtos/base/parallel.h and allocate nothing; scratch is aligned to
// 64 bytes. Results do not depend on the number of threads.

namespace syrtos::ops::native {

struct AmxDense {
  int batch = 1;
  int in = 1;
  int out = 1;
};

/// Whether AMX can be used and is expected to be faster than other kernels.
bool amx_dense_should_use(const AmxDense& problem);

size_t amx_dense_forward_scratch_bytes(const AmxDense& problem);
/// bias [out] may be null; relu is applied last. dst is bf16, or f32 where dst_f32 is not null.
void amx_dense_forward(const AmxDense& problem, const uint16_t* src, const uint16_t* weights,
                       const float* bias, bool relu, uint16_t* dst, float* dst_f32, void* scratch);

size_t amx_dense_backward_data_scratch_bytes(const AmxDense& problem);
void amx_dense_backward_data(const AmxDense& problem, const uint16_t* diff_dst,
                             const uint16_t* weights, uint16_t* diff_src, void* scratch);

size_t amx_dense_backward_weights_scratch_bytes(const AmxDense& problem);
void amx_dense_backward_weights(const AmxDense& problem, const uint16_t* src,
                                const uint16_t* diff_dst, float* diff_weights, void* scratch);

}  // namespace syrtos::ops::native
