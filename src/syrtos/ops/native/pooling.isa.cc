#include "syrtos/ops/native/pooling_kernels.h"

#include "syrtos/ops/native/element.h"

// Gradients are gathered: each input pixel looks at the outputs whose windows cover it. So threads
// never write the same pixel, and bf16 gradients are summed in floats and rounded once.

namespace syrtos::ops::native::SYRTOS_ISA {
namespace {

struct Window {
  int64_t begin, end;
  int64_t step = 1;
};

inline int64_t ceil_divide(int64_t a, int64_t b) { return (a + b - 1) / b; }
inline int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }
inline int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }

/// From the first position of a window to behind its last.
inline int64_t reach_of(const PoolAxis& axis) { return axis.dilation * (axis.kernel - 1) + 1; }

/// The inputs that output o covers.
inline Window inputs_of(const PoolAxis& axis, int64_t o) {
  if (axis.adaptive) {
    return {o * axis.input / axis.output, ceil_divide((o + 1) * axis.input, axis.output)};
  }
  const int64_t begin = o * axis.stride - axis.padding;
  const int64_t skipped = begin < 0 ? ceil_divide(-begin, axis.dilation) * axis.dilation : 0;
  return {begin + skipped, smaller(begin + reach_of(axis), axis.input), axis.dilation};
}

/// The outputs whose windows reach over input i (those with gaps may leave it out): the same rule
/// with input and output exchanged if adaptive.
inline Window outputs_of(const PoolAxis& axis, int64_t i) {
  if (axis.adaptive) {
    return {i * axis.output / axis.input, ceil_divide((i + 1) * axis.output, axis.input)};
  }
  const int64_t first = i + axis.padding - reach_of(axis) + 1;
  return {first <= 0 ? 0 : ceil_divide(first, axis.stride),
          smaller((i + axis.padding) / axis.stride + 1, axis.output)};
}

/// Whether one of them, with its gaps, covers input i.
inline bool covers(const PoolAxis& axis, int64_t o, int64_t i) {
  return axis.dilation == 1 || (i + axis.padding - o * axis.stride) % axis.dilation == 0;
}

/// How many positions of the axis count in the average of output o.
inline int64_t divisor_of(const PoolShape& shape, const PoolAxis& axis, int64_t o) {
  if (!shape.count_padding || axis.adaptive) {
    const Window window = inputs_of(axis, o);
    return ceil_divide(window.end - window.begin, window.step);
  }
  const int64_t begin = o * axis.stride - axis.padding;
  const int64_t end = smaller(begin + reach_of(axis), axis.input + axis.padding_end);
  return ceil_divide(end - begin, axis.dilation);
}

inline float share_of_window(const PoolShape& shape, int64_t oh, int64_t ow) {
  return 1.0f / static_cast<float>(divisor_of(shape, shape.height, oh) *
                                   divisor_of(shape, shape.width, ow));
}

template <typename T>
void average(const PoolShape& shape, int64_t begin, int64_t end, const void* src, void* dst) {
  const int64_t channels = shape.channels;
  for (int64_t row = begin; row < end; ++row) {
    const int64_t oh = row % shape.height.output;
    const T* image = static_cast<const T*>(src) +
                     row / shape.height.output * shape.height.input * shape.width.input * channels;
    const Window lines = inputs_of(shape.height, oh);
    for (int64_t ow = 0; ow < shape.width.output; ++ow) {
      const Window columns = inputs_of(shape.width, ow);
      const float share = share_of_window(shape, oh, ow);
      T* out = static_cast<T*>(dst) + (row * shape.width.output + ow) * channels;
      for_each_tile(
          0, channels, [&](auto tile) __attribute__((always_inline)) {
            constexpr int kVectors = decltype(tile)::kVectors;
            Vec sum[kVectors] = {};
            for (int64_t h = lines.begin; h < lines.end; h += lines.step) {
              const T* line = image + h * shape.width.input * channels;
              for (int64_t w = columns.begin; w < columns.end; w += columns.step) {
#pragma GCC unroll 4
                for (int v = 0; v < kVectors; ++v) sum[v] += tile.get(line + w * channels, v);
              }
            }
            for (int v = 0; v < kVectors; ++v) tile.put(out, v, sum[v] * share);
          });
    }
  }
}

template <typename T>
void average_backward(const PoolShape& shape, int64_t begin, int64_t end, const void* diff_dst,
                      void* diff_src) {
  const int64_t channels = shape.channels;
  for (int64_t row = begin; row < end; ++row) {
    const T* image = static_cast<const T*>(diff_dst) +
                     row / shape.height.input * shape.height.output * shape.width.output * channels;
    const Window lines = outputs_of(shape.height, row % shape.height.input);
    for (int64_t w = 0; w < shape.width.input; ++w) {
      const Window columns = outputs_of(shape.width, w);
      T* out = static_cast<T*>(diff_src) + (row * shape.width.input + w) * channels;
      for_each_tile(
          0, channels, [&](auto tile) __attribute__((always_inline)) {
            constexpr int kVectors = decltype(tile)::kVectors;
            Vec sum[kVectors] = {};
            for (int64_t oh = lines.begin; oh < lines.end; ++oh) {
              if (!covers(shape.height, oh, row % shape.height.input)) continue;
              for (int64_t ow = columns.begin; ow < columns.end; ++ow) {
                if (!covers(shape.width, ow, w)) continue;
                const float share = share_of_window(shape, oh, ow);
                const T* diff = image + (oh * shape.width.output + ow) * channels;
#pragma GCC unroll 4
                for (int v = 0; v < kVectors; ++v) sum[v] += tile.get(diff, v) * share;
              }
            }
            for (int v = 0; v < kVectors; ++v) tile.put(out, v, sum[v]);
          });
    }
  }
}

// Positions are integers in vectors of floats: their bits pass through unchanged.
[[gnu::always_inline]] inline Vec bits_of(IntVec v) { return reinterpret_cast<Vec>(v); }

template <typename T>
void max(const PoolShape& shape, int64_t begin, int64_t end, const void* src, void* dst,
         int32_t* position) {
  const int64_t channels = shape.channels;
  for (int64_t row = begin; row < end; ++row) {
    const T* image = static_cast<const T*>(src) +
                     row / shape.height.output * shape.height.input * shape.width.input * channels;
    const Window lines = inputs_of(shape.height, row % shape.height.output);
    for (int64_t ow = 0; ow < shape.width.output; ++ow) {
      const Window columns = inputs_of(shape.width, ow);
      const int64_t out = (row * shape.width.output + ow) * channels;
      for_each_tile(
          0, channels, [&](auto tile) __attribute__((always_inline)) {
            constexpr int kVectors = decltype(tile)::kVectors;
            Vec top[kVectors];
            IntVec where[kVectors];
            const int64_t origin = lines.begin * shape.width.input + columns.begin;
            for (int v = 0; v < kVectors; ++v) {
              top[v] = tile.get(image + origin * channels, v);
              where[v] = IntVec{} + static_cast<int32_t>(origin);
            }
            for (int64_t h = lines.begin; h < lines.end; h += lines.step) {
              for (int64_t w = columns.begin; w < columns.end; w += columns.step) {
                const int64_t pixel = h * shape.width.input + w;
                const IntVec here = IntVec{} + static_cast<int32_t>(pixel);
#pragma GCC unroll 4
                for (int v = 0; v < kVectors; ++v) {
                  const Vec x = tile.get(image + pixel * channels, v);
                  const IntVec better = (x > top[v]) | (x != x);
                  top[v] = better ? x : top[v];
                  where[v] = better ? here : where[v];
                }
              }
            }
            for (int v = 0; v < kVectors; ++v) {
              tile.put(static_cast<T*>(dst) + out, v, top[v]);
              if (position != nullptr) {
                tile.put(reinterpret_cast<float*>(position) + out, v, bits_of(where[v]));
              }
            }
          });
    }
  }
}

template <typename T>
void max_backward(const PoolShape& shape, int64_t begin, int64_t end, const void* diff_dst,
                  const int32_t* position, void* diff_src) {
  const int64_t channels = shape.channels;
  for (int64_t row = begin; row < end; ++row) {
    const int64_t h = row % shape.height.input;
    const int64_t image =
        row / shape.height.input * shape.height.output * shape.width.output * channels;
    const Window lines = outputs_of(shape.height, h);
    for (int64_t w = 0; w < shape.width.input; ++w) {
      const Window columns = outputs_of(shape.width, w);
      const IntVec here = IntVec{} + static_cast<int32_t>(h * shape.width.input + w);
      T* out = static_cast<T*>(diff_src) + (row * shape.width.input + w) * channels;
      for_each_tile(
          0, channels, [&](auto tile) __attribute__((always_inline)) {
            constexpr int kVectors = decltype(tile)::kVectors;
            Vec sum[kVectors] = {};
            for (int64_t oh = lines.begin; oh < lines.end; ++oh) {
              for (int64_t ow = columns.begin; ow < columns.end; ++ow) {
                const int64_t at = image + (oh * shape.width.output + ow) * channels;
#pragma GCC unroll 4
                for (int v = 0; v < kVectors; ++v) {
                  const Vec where = tile.get(reinterpret_cast<const float*>(position) + at, v);
                  const Vec diff = tile.get(static_cast<const T*>(diff_dst) + at, v);
                  sum[v] += reinterpret_cast<IntVec>(where) == here ? diff : Vec{};
                }
              }
            }
            for (int v = 0; v < kVectors; ++v) tile.put(out, v, sum[v]);
          });
    }
  }
}

}  // namespace

const PoolingKernels pooling_kernels = {
    {average<float>, average<Bf16>},
    {average_backward<float>, average_backward<Bf16>},
    {max<float>, max<Bf16>},
    {max_backward<float>, max_backward<Bf16>},
};

}  // namespace syrtos::ops::native::SYRTOS_ISA
