#pragma once

#include <cstddef>
#include <cstdint>

// The three products of a dense layer in f32: weights [out][in], src [batch][in], dst [batch][out],
// all row-major. With batches of tens of rows each weight is used that often and no more, so the
// weights are read, or their gradient is written, once and in order; the activations are packed.
// Calls block until done, use the threads of syrtos/base/parallel.h and allocate nothing; results
// do not depend on their number. The scratch is aligned to 64 bytes.

namespace syrtos::ops::native {

struct Dense {
  int64_t batch = 1;
  int64_t in = 1;
  int64_t out = 1;
};

/// Whether they are expected to be faster than a general matrix product.
bool dense_should_use(const Dense& problem);
/// Whether they could be computed here: in is a multiple of 16.
bool dense_supported(const Dense& problem);

size_t dense_forward_scratch_bytes(const Dense& problem);
/// bias [out] may be null; relu is applied last.
void dense_forward(const Dense& problem, const float* src, const float* weights, const float* bias,
                   bool relu, float* dst, void* scratch);

size_t dense_backward_data_scratch_bytes(const Dense& problem);
void dense_backward_data(const Dense& problem, const float* diff_dst, const float* weights,
                         float* diff_src, void* scratch);

size_t dense_backward_weights_scratch_bytes(const Dense& problem);
void dense_backward_weights(const Dense& problem, const float* src, const float* diff_dst,
                            float* diff_weights, void* scratch);

}  // namespace syrtos::ops::native
