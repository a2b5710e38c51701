#pragma once

#include <cstdint>
#include <vector>

namespace syrtos::data {

/// A part of a picture, in pixels; edges need not be whole numbers.
struct Window {
  double top = 0;
  double left = 0;
  double height = 0;
  double width = 0;
};

/// Which source pixels make up each pixel along one axis, and how much each counts.
struct ResizeTaps {
  std::vector<int32_t> first;    ///< source pixel of the first tap
  std::vector<int32_t> count;    ///< taps
  std::vector<int16_t> weights;  ///< [pixels, most]; those of a pixel add up to 1 << 14
  int64_t most = 0;              ///< taps of any pixel
};

/// Memory that is used again from picture to picture: after the largest nothing is allocated.
struct ResizeScratch {
  ResizeTaps rows;
  ResizeTaps columns;
  std::vector<int32_t> sums;
  std::vector<int16_t> row;
  std::vector<double> exact;
};

/// Scales the part `window` of a u8 picture [height, width, channels] to [out_height, out_width,
/// channels] with the triangle filter: linear interpolation when it grows, a weighted mean of all
/// pixels that are covered when it shrinks (no aliasing). Integers only, so that every machine gets
/// the same result. The window must lie inside the picture.
void resize(const uint8_t* src, int64_t height, int64_t width, int64_t channels,
            const Window& window, uint8_t* dst, int64_t out_height, int64_t out_width,
            ResizeScratch& scratch);

}  // namespace syrtos::data
