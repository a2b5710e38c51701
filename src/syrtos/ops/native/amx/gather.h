#pragma once

#include <cstddef>
#include <cstdint>

#include "syrtos/ops/native/amx/conv.h"
#include "syrtos/ops/native/amx/kernels.h"

// The common form of a convolution and of its data gradient: every pixel of a result is the sum,
// over the taps of the kernel, of a source's pixel times that tap's matrix.

namespace syrtos::ops::native::amx {

/// One axis: which pixel of the source a tap brings to a pixel of the result.
struct Axis {
  int result = 1;  ///< pixels
  int source = 1;
  int kernel = 1;
  int stride = 1;
  int dilation = 1;
  int pad = 0;
  bool backward = false;

  /// The source's pixel, which may lie outside; false where the tap brings none.
  bool source_of(int x, int tap, int& pixel) const {
    if (!backward) {
      pixel = x * stride + tap * dilation - pad;
      return true;
    }
    const int at = x + pad - tap * dilation;
    if (at < 0 ? (-at) % stride != 0 : at % stride != 0) return false;
    pixel = at / stride;
    return true;
  }
  bool inside(int x, int tap, int& pixel) const {
    return source_of(x, tap, pixel) && pixel >= 0 && pixel < source;
  }
  /// Whether a tap meets the source anywhere.
  bool ever_inside(int tap) const {
    int pixel = 0;
    for (int x = 0; x < result; ++x) {
      if (inside(x, tap, pixel)) return true;
    }
    return false;
  }
  /// From a pixel of the result to the next of the same phase, and what the source steps by.
  int result_step() const { return backward ? stride : 1; }
  int source_step() const { return backward ? 1 : stride; }
};

struct Gather {
  int batch = 1;
  Axis h;
  Axis w;
  int source_c = 1;
  int result_c = 1;
  bool segments = false;  ///< the source is made of rows of an image with few channels
  Segments segment{};     ///< how
};

/// Whether there are too few channels to fill a tile, so that a row of the kernel is made one pixel
/// of many channels: the convolution becomes one with a kernel of one column.
bool uses_segments(const AmxConv& problem);
/// That convolution.
AmxConv with_segments(const AmxConv& problem);
Segments segments_of(const AmxConv& problem);

Gather forward_gather(const AmxConv& problem);
Gather backward_gather(const AmxConv& problem);

/// Scratch of run_gather; its weights are tiles [result_c / 16][taps][source_c / 32], rounded up.
size_t gather_scratch_bytes(const Gather& gather);
void run_gather(const Gather& gather, const uint16_t* source, const char* weights,
                const float* bias, bool relu, uint16_t* result, void* scratch);

constexpr int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
constexpr int64_t align64(int64_t bytes) { return (bytes + 63) / 64 * 64; }
/// Bytes of weights as tiles.
int64_t tiled_weights_bytes(const Gather& gather);

}  // namespace syrtos::ops::native::amx
