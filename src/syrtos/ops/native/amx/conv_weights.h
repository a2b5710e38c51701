#pragma once

#include "syrtos/ops/native/amx/gather.h"
#include "syrtos/ops/native/amx/kernels.h"

// Weights of convolutions as tiles [columns / 16][taps][k / 32], padded with zeros.

namespace syrtos::ops::native::amx {

/// Of plain weights, for the forward pass: k = i, or (column of the kernel, i) with segments.
void pack_forward_weights(const AmxConv& problem, const uint16_t* weights, char* tiles);
/// Of plain weights, for the backward pass: k = o.
void pack_backward_weights(const AmxConv& problem, const uint16_t* weights, char* tiles);
/// The same of tiled weights, for the backward pass. Taps that meet no pixel are left out.
void transpose_tiled_weights(const AmxConv& problem, const Gather& backward,
                             const uint16_t* weights, char* tiles);

}  // namespace syrtos::ops::native::amx
