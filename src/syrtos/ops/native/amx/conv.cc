#include "syrtos/ops/native/amx/conv.h"

#include "syrtos/ops/native/amx/conv_weights.h"
#include "syrtos/ops/native/amx/gather.h"
#include "syrtos/ops/native/amx/tiles.h"

namespace syrtos::ops::native {

using namespace amx;

namespace {

constexpr int kMaxTaps = 256;

}  // namespace

bool amx_conv_tiled(const AmxConv& p) { return p.in_c % 32 == 0 && p.out_c % 16 == 0; }

bool amx_conv_supported(const AmxConv& p) {
  constexpr int64_t kMaxPixels = int64_t{1} << 28;  // counted in int, with room for small factors
  if (int64_t{p.batch} * p.in_h > kMaxPixels / p.in_w) return false;
  if (int64_t{p.batch} * p.out_h > kMaxPixels / p.out_w) return false;
  if (p.kernel_h * p.kernel_w > kMaxTaps || p.stride_w > 16) return false;
  // More zeros than the kernel reaches over are of no use to anybody.
  if (p.pad_top > (p.kernel_h - 1) * p.dilation_h) return false;
  if (p.pad_left > (p.kernel_w - 1) * p.dilation_w) return false;
  return amx_usable();
}

bool amx_conv_should_use(const AmxConv& p) { return amx_conv_supported(p); }

size_t amx_conv_forward_scratch_bytes(const AmxConv& p) {
  const Gather g = forward_gather(p);
  const size_t weights = amx_conv_tiled(p) ? 0 : static_cast<size_t>(tiled_weights_bytes(g));
  return weights + gather_scratch_bytes(g);
}

void amx_conv_forward(const AmxConv& p, const uint16_t* src, const uint16_t* weights,
                      const float* bias, bool relu, uint16_t* dst, void* scratch) {
  auto* at = static_cast<char*>(scratch);
  const Gather g = forward_gather(p);
  const char* tiles = reinterpret_cast<const char*>(weights);
  if (!amx_conv_tiled(p)) {
    pack_forward_weights(p, weights, at);
    tiles = at;
    at += tiled_weights_bytes(g);
  }
  run_gather(g, src, tiles, bias, relu, dst, at);
}

size_t amx_conv_backward_data_scratch_bytes(const AmxConv& p) {
  const Gather g = backward_gather(p);
  return static_cast<size_t>(tiled_weights_bytes(g)) + gather_scratch_bytes(g);
}

void amx_conv_backward_data(const AmxConv& p, const uint16_t* diff_dst, const uint16_t* weights,
                            uint16_t* diff_src, void* scratch) {
  const Gather g = backward_gather(p);
  auto* tiles = static_cast<char*>(scratch);
  if (amx_conv_tiled(p)) {
    transpose_tiled_weights(p, g, weights, tiles);
  } else {
    pack_backward_weights(p, weights, tiles);
  }
  run_gather(g, diff_dst, tiles, nullptr, false, diff_src, tiles + tiled_weights_bytes(g));
}

}  // namespace syrtos::ops::native
