#pragma once

#include <cstddef>

#include "syrtos/base/cpu.h"
#include "syrtos/ops/native/conv_wgrad.h"

namespace syrtos::ops::native {

/// A convolution of f32 channels-last images with 3x3 kernels, stride 1 and no dilation, computed
/// by Winograd's F(4x4, 3x3): 36 multiplications where direct convolution needs 144. It rounds
/// more than direct convolution: errors reach about 2e-6 to 4e-6 of the largest result.
/// src is [batch][in_h][in_w][in_c], dst [batch][out_h][out_w][out_c]; all three directions keep
/// weights and diff_weights in the same layout.
struct Winograd {
  int batch = 1;
  int in_h = 1;
  int in_w = 1;
  int in_c = 1;
  int out_h = 1;
  int out_w = 1;
  int out_c = 1;
  int pad_top = 0;  ///< the bottom and right padding follow from the output size
  int pad_left = 0;
  WgradLayout weights;  ///< i_pack must be 1
};

/// Whether these kernels can compute the problem at all: a dense layout with i_pack = 1.
bool winograd_supported(const Winograd& problem);

/// Whether each direction is expected to beat direct convolution clearly. Depends only on the
/// problem and on the instruction set.
bool winograd_forward_should_use(const Winograd& problem);
bool winograd_backward_data_should_use(const Winograd& problem);
bool winograd_backward_weights_should_use(const Winograd& problem);

/// Bytes of scratch with the present thread_count(), aligned to 64 bytes. Another isa than the
/// best one is for tests.
size_t winograd_forward_scratch_bytes(const Winograd& problem, Isa isa = best_isa());
size_t winograd_backward_data_scratch_bytes(const Winograd& problem, Isa isa = best_isa());
size_t winograd_backward_weights_scratch_bytes(const Winograd& problem, Isa isa = best_isa());

// Each call overwrites its result, runs on the whole pool and blocks; allocates nothing;
// bit-reproducible for a fixed thread_count().

/// dst = conv(src, weights) + bias, then max(., 0) if relu. bias [out_c] may be null.
void winograd_forward(const Winograd& problem, const float* src, const float* weights,
                      const float* bias, bool relu, float* dst, void* scratch,
                      Isa isa = best_isa());

void winograd_backward_data(const Winograd& problem, const float* diff_dst, const float* weights,
                            float* diff_src, void* scratch, Isa isa = best_isa());

/// Writes diff_weights with its padding, and diff_bias [out_c] when it is not null.
void winograd_backward_weights(const Winograd& problem, const float* src, const float* diff_dst,
                               float* diff_weights, float* diff_bias, void* scratch,
                               Isa isa = best_isa());

}  // namespace syrtos::ops::native
