#include "syrtos/data/pictures/resize.h"

#include <algorithm>
#include <cmath>

#include "syrtos/base/error.h"

namespace syrtos::data {

// Columns of pixels are added up first, row by row in memory, then rows. In between, values carry
// 7 bits after the point: 255 << 7 still fits 16 bits.

namespace {

constexpr int kWeightBits = 14;
constexpr int kRowBits = 7;

/// Integers that add up to 1 << 14 exactly: what rounding takes from one tap the next one gets.
void round_weights(const std::vector<double>& exact, double total, int16_t* weights) {
  double until = 0;
  int32_t given = 0;
  for (size_t k = 0; k < exact.size(); ++k) {
    until += exact[k];
    const auto here =
        static_cast<int32_t>(std::lround(until / total * static_cast<double>(1 << kWeightBits)));
    weights[k] = static_cast<int16_t>(here - given);
    given = here;
  }
}

/// Pixel p of `out` covers [start + p * scale, start + (p + 1) * scale) of `size` source pixels.
void make_taps(double start, double length, int64_t size, int64_t out, ResizeTaps& taps,
               std::vector<double>& exact) {
  const double scale = length / static_cast<double>(out);
  const double support = std::max(scale, 1.0);
  taps.most = static_cast<int64_t>(std::ceil(support)) * 2 + 1;
  taps.first.resize(static_cast<size_t>(out));
  taps.count.resize(static_cast<size_t>(out));
  taps.weights.resize(static_cast<size_t>(out * taps.most));
  for (int64_t p = 0; p < out; ++p) {
    const double center = start + (static_cast<double>(p) + 0.5) * scale;
    const auto from =
        std::clamp<int64_t>(static_cast<int64_t>(center - support + 0.5), 0, size - 1);
    const auto to =
        std::clamp<int64_t>(static_cast<int64_t>(center + support + 0.5), from + 1, size);
    exact.clear();
    double total = 0;
    for (int64_t i = from; i < to; ++i) {
      const double distance = std::abs(static_cast<double>(i) + 0.5 - center) / support;
      exact.push_back(std::max(0.0, 1.0 - distance));
      total += exact.back();
    }
    taps.first[static_cast<size_t>(p)] = static_cast<int32_t>(from);
    taps.count[static_cast<size_t>(p)] = static_cast<int32_t>(to - from);
    round_weights(exact, total, taps.weights.data() + p * taps.most);
  }
}

void add_row(const uint8_t* src, int16_t weight, int64_t count, int32_t* sums) {
  for (int64_t i = 0; i < count; ++i) sums[i] += int32_t{weight} * int32_t{src[i]};
}

void round_row(const int32_t* sums, int64_t count, int16_t* row) {
  constexpr int kShift = kWeightBits - kRowBits;
  for (int64_t i = 0; i < count; ++i) {
    row[i] = static_cast<int16_t>((sums[i] + (1 << (kShift - 1))) >> kShift);
  }
}

/// kChannels is 0 when their number is not known to the compiler.
template <int kChannels>
void scale_row(const int16_t* row, int64_t channels, int32_t left, const ResizeTaps& taps,
               uint8_t* dst) {
  constexpr int kShift = kWeightBits + kRowBits;
  const int64_t step = kChannels > 0 ? kChannels : channels;
  const auto out = static_cast<int64_t>(taps.first.size());
  for (int64_t x = 0; x < out; ++x) {
    const int16_t* from = row + (taps.first[static_cast<size_t>(x)] - left) * step;
    const int16_t* weights = taps.weights.data() + x * taps.most;
    const int32_t count = taps.count[static_cast<size_t>(x)];
    for (int64_t c = 0; c < step; ++c) {
      int32_t sum = 1 << (kShift - 1);
      for (int32_t k = 0; k < count; ++k) sum += int32_t{weights[k]} * from[k * step + c];
      dst[x * step + c] = static_cast<uint8_t>(sum >> kShift);
    }
  }
}

}  // namespace

void resize(const uint8_t* src, int64_t height, int64_t width, int64_t channels,
            const Window& window, uint8_t* dst, int64_t out_height, int64_t out_width,
            ResizeScratch& scratch) {
  constexpr double kSlack = 1e-6;
  SYRTOS_CHECK(height > 0 && width > 0 && channels > 0 && out_height > 0 && out_width > 0,
               "{}x{}x{} to {}x{}", height, width, channels, out_height, out_width);
  SYRTOS_CHECK(
      window.height > 0 && window.width > 0 && window.top >= -kSlack && window.left >= -kSlack &&
          window.top + window.height <= static_cast<double>(height) + kSlack &&
          window.left + window.width <= static_cast<double>(width) + kSlack,
      "{},{} {}x{} of {}x{}", window.top, window.left, window.height, window.width, height, width);
  make_taps(window.top, window.height, height, out_height, scratch.rows, scratch.exact);
  make_taps(window.left, window.width, width, out_width, scratch.columns, scratch.exact);
  const int32_t left = scratch.columns.first.front();
  const int64_t used =
      (scratch.columns.first.back() + scratch.columns.count.back() - left) * channels;
  scratch.sums.resize(static_cast<size_t>(used));
  scratch.row.resize(static_cast<size_t>(used));
  for (int64_t y = 0; y < out_height; ++y) {
    std::fill(scratch.sums.begin(), scratch.sums.end(), 0);
    const int64_t first = scratch.rows.first[static_cast<size_t>(y)];
    for (int64_t k = 0; k < scratch.rows.count[static_cast<size_t>(y)]; ++k) {
      add_row(src + ((first + k) * width + left) * channels,
              scratch.rows.weights[static_cast<size_t>(y * scratch.rows.most + k)], used,
              scratch.sums.data());
    }
    round_row(scratch.sums.data(), used, scratch.row.data());
    uint8_t* to = dst + y * out_width * channels;
    switch (channels) {
      case 1:
        scale_row<1>(scratch.row.data(), 1, left, scratch.columns, to);
        break;
      case 3:
        scale_row<3>(scratch.row.data(), 3, left, scratch.columns, to);
        break;
      default:
        scale_row<0>(scratch.row.data(), channels, left, scratch.columns, to);
    }
  }
}

}  // namespace syrtos::data
