#pragma once

#include <cstddef>
#include <cstdint>

// Convolutions in bf16 on AMX's tiles, with sums in f32, over channels-last images:
// src [batch][in_h][in_w][in_c], dst [batch][out_h][out_w][out_c]. Calls block until done, use the
// threads of syrtos/base/parallel.h and allocate nothing; scratch is aligned to 64 bytes. Results
// are the same in each run with the same number of threads.

namespace syrtos::ops::native {

struct AmxConv {
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
};

/// How weights and their gradient lie: in tiles [out_c/16][h][w][in_c/32][16 pairs of i][16 o][2]
/// where the channels fill them, else plain [out_c][in_c][h][w].
bool amx_conv_tiled(const AmxConv& problem);

/// Whether AMX can be used and is expected to be faster than other kernels for bf16, in all three
/// directions. Does not depend on the batch, the size of images or threads, so that all programs of
/// a model agree on the layout of weights.
bool amx_conv_should_use(const AmxConv& problem);
/// Whether it could be computed here at all.
bool amx_conv_supported(const AmxConv& problem);

size_t amx_conv_forward_scratch_bytes(const AmxConv& problem);
/// bias [out_c] may be null; relu is applied last.
void amx_conv_forward(const AmxConv& problem, const uint16_t* src, const uint16_t* weights,
                      const float* bias, bool relu, uint16_t* dst, void* scratch);

size_t amx_conv_backward_data_scratch_bytes(const AmxConv& problem);
void amx_conv_backward_data(const AmxConv& problem, const uint16_t* diff_dst,
                            const uint16_t* weights, uint16_t* diff_src, void* scratch);

size_t amx_conv_backward_weights_scratch_bytes(const AmxConv& problem);
/// Overwrites diff_weights and, when it is not null, diff_bias [out_c].
void amx_conv_backward_weights(const AmxConv& problem, const uint16_t* src,
                               const uint16_t* diff_dst, float* diff_weights, float* diff_bias,
                               void* scratch);

}  // namespace syrtos::ops::native
