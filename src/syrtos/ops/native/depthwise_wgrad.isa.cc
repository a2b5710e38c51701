#include "syrtos/ops/native/depthwise_wgrad_kernels.h"
#include "syrtos/ops/native/element.h"

// Channels are the vectors. For some channels and one row of the kernel, a sweep over the image
// keeps the sums of all taps of that row in registers.

namespace syrtos::ops::native::SYRTOS_ISA {
namespace {

inline int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }
inline int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }

/// The outputs [begin, end) for which tap k reads an input that exists.
struct Valid {
  int64_t begin, end;
};
inline Valid outputs_of(const DepthwiseAxis& axis, int64_t k) {
  const int64_t shift = axis.padding - k * axis.dilation;  // o * stride >= shift
  const int64_t begin = shift <= 0 ? 0 : (shift + axis.stride - 1) / axis.stride;
  const int64_t last = axis.input - 1 + shift;  // o * stride <= last
  return {smaller(begin, axis.output), last < 0 ? 0 : smaller(last / axis.stride + 1, axis.output)};
}

/// One row of the kernel with kTaps columns, for the channels of a tile.
template <int kTaps, typename T, typename ChannelTile>
[[gnu::always_inline]] inline void add_row(const DepthwiseShape& shape, ChannelTile tile,
                                           int64_t kh, const T* src, const T* diff, float* sums,
                                           int64_t stride) {
  constexpr int kVectors = ChannelTile::kVectors;
  const DepthwiseAxis& w = shape.width;
  const int64_t channels = shape.channels;
  const Valid lines = outputs_of(shape.height, kh);
  // Where every tap has an input; the last tap begins first, the first one ends last.
  const int64_t first = larger(outputs_of(w, 0).begin, 0);
  const int64_t end = larger(first, outputs_of(w, kTaps - 1).end);
  Vec total[kTaps][kVectors] = {};
  const auto border = [&](const T* line, const T* out, int64_t ow) {
    for (int k = 0; k < kTaps; ++k) {
      const int64_t iw = ow * w.stride - w.padding + k * w.dilation;
      if (iw < 0 || iw >= w.input) continue;
      for (int v = 0; v < kVectors; ++v) {
        total[k][v] += tile.get(out + ow * channels, v) * tile.get(line + iw * channels, v);
      }
    }
  };
  for (int64_t oh = lines.begin; oh < lines.end; ++oh) {
    const int64_t ih = oh * shape.height.stride - shape.height.padding + kh * shape.height.dilation;
    const T* line = src + ih * w.input * channels;
    const T* out = diff + oh * w.output * channels;
    for (int64_t ow = 0; ow < smaller(first, w.output); ++ow) border(line, out, ow);
    for (int64_t ow = first; ow < end; ++ow) {
      const T* pixel = line + (ow * w.stride - w.padding) * channels;
      Vec d[kVectors];
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) d[v] = tile.get(out + ow * channels, v);
#pragma GCC unroll 16
      for (int k = 0; k < kTaps; ++k) {
#pragma GCC unroll 4
        for (int v = 0; v < kVectors; ++v) {
          total[k][v] += d[v] * tile.get(pixel + k * w.dilation * channels, v);
        }
      }
    }
    for (int64_t ow = larger(end, first); ow < w.output; ++ow) border(line, out, ow);
  }
  for (int k = 0; k < kTaps; ++k) {
    float* row = sums + (kh * kTaps + k) * stride;
    for (int v = 0; v < kVectors; ++v) tile.put(row, v, tile.get(row, v) + total[k][v]);
  }
}

template <int kTaps, typename T>
void add_image(const DepthwiseShape& shape, const void* from, const void* diff_dst, float* sums,
               int64_t stride) {
  const T* src = static_cast<const T*>(from);
  const T* diff = static_cast<const T*>(diff_dst);
  const int64_t channels = shape.channels;
  // As many vectors as leave registers for the sums of all taps.
  constexpr int kWide = kTaps <= 5 ? 2 : 1;
  for (int64_t kh = 0; kh < shape.height.kernel; ++kh) {
    int64_t c = 0;
    for (; c + kWide * kLanes <= channels; c += kWide * kLanes) {
      add_row<kTaps>(shape, Tile<kWide, false>{c, kWide * kLanes}, kh, src, diff, sums, stride);
    }
    for (; c + kLanes <= channels; c += kLanes) {
      add_row<kTaps>(shape, Tile<1, false>{c, kLanes}, kh, src, diff, sums, stride);
    }
    if (c < channels) {
      add_row<kTaps>(shape, Tile<1, true>{c, static_cast<int>(channels - c)}, kh, src, diff, sums,
                     stride);
    }
  }
}

template <typename T>
void choose(const DepthwiseShape& shape, const void* src, const void* diff_dst, float* sums,
            int64_t stride) {
  using AddImage = void (*)(const DepthwiseShape&, const void*, const void*, float*, int64_t);
  constexpr AddImage kByWidth[] = {add_image<1, T>,  add_image<2, T>, add_image<3, T>,
                                   add_image<4, T>,  add_image<5, T>, add_image<6, T>,
                                   add_image<7, T>,  add_image<8, T>, add_image<9, T>,
                                   add_image<10, T>, add_image<11, T>};
  static_assert(sizeof kByWidth / sizeof kByWidth[0] == kDepthwiseWidest);
  kByWidth[shape.width.kernel - 1](shape, src, diff_dst, sums, stride);
}

}  // namespace

const DepthwiseWgradKernels depthwise_wgrad_kernels = {{choose<float>, choose<Bf16>}};

}  // namespace syrtos::ops::native::SYRTOS_ISA
