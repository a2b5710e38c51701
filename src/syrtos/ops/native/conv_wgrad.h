#pragma once

#include <cstddef>
#include <cstdint>

#include "syrtos/base/cpu.h"

namespace syrtos::ops::native {

/// Where diff_weights(o, i, h, w) lies, in floats: the layout in which the forward convolution
/// keeps its weights, so that the optimiser can walk weights and gradient side by side.
///   address = (o / o_block) * stride_o + h * stride_h + w * stride_w + (i / i_pack) * stride_i
///           + (o % o_block) * i_pack + i % i_pack
/// padded_o and padded_i count the padding; the tensor has no gaps beside it.
struct WgradLayout {
  int64_t o_block = 0;
  int64_t i_pack = 1;  ///< 1 or 2
  int64_t stride_o = 0;
  int64_t stride_i = 0;
  int64_t stride_h = 0;
  int64_t stride_w = 0;
  int64_t padded_o = 0;
  int64_t padded_i = 0;
};

/// The gradient of a convolution with respect to its weights (and bias), all on channels-last
/// images: src [batch][in_h][in_w][in_c], diff_dst [batch][out_h][out_w][out_c], both f32 or both
/// bf16; diff_weights and diff_bias are f32.
struct ConvWgrad {
  int batch = 1;
  int in_h = 1;
  int in_w = 1;
  int in_c = 1;
  int out_h = 1;
  int out_w = 1;
  int out_c = 1;
  int kernel_h = 1;
  int kernel_w = 1;
  int stride_h = 1;
  int stride_w = 1;
  int dilation_h = 1;  ///< 1: neighbouring taps touch neighbouring pixels
  int dilation_w = 1;
  int pad_top = 0;  ///< the bottom and right padding follow from the output size
  int pad_left = 0;
  bool bf16 = false;
  WgradLayout layout;
};

/// The layout [o / o_block][h][w][i / i_pack][o_block][i_pack]; o_block = out_c and i_pack = 1 is
/// plain hwio.
WgradLayout blocked_wgrad_layout(int out_c, int in_c, int kernel_h, int kernel_w, int o_block,
                                 int i_pack);

/// Whether conv_wgrad can compute this problem at all: i_pack 1 or 2, a dense layout, kernels of at
/// most 64 x 64.
bool conv_wgrad_supported(const ConvWgrad& problem);

/// Whether it is expected to be at least as fast as oneDNN's, also where other programs compute.
/// Depends only on the problem, on the instruction set and on the number of threads.
bool conv_wgrad_should_use(const ConvWgrad& problem);

/// Bytes of scratch that conv_wgrad needs with the present thread_count(), aligned to 64 bytes.
/// Another isa than the best one is for tests.
size_t conv_wgrad_scratch_bytes(const ConvWgrad& problem, Isa isa = best_isa());

/// Overwrites diff_weights, padding included, and diff_bias [out_c] when it is not null. Runs on
/// the whole pool and blocks; allocates nothing; bit-reproducible for a fixed thread_count().
void conv_wgrad(const ConvWgrad& problem, const void* src, const void* diff_dst,
                float* diff_weights, float* diff_bias, void* scratch, Isa isa = best_isa());

}  // namespace syrtos::ops::native
