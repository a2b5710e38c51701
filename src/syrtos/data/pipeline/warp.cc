#include "syrtos/data/pipeline/warp.h"

#include <cmath>
#include <numbers>

#include "syrtos/data/pipeline/draws.h"

namespace syrtos::data {

namespace {

constexpr uint32_t kWarp = 0x77617270;

template <typename T>
T stored(float value) {
  if constexpr (std::is_same_v<T, uint8_t>) return static_cast<uint8_t>(value + 0.5F);
  return value;
}

/// The pixel at (y, x), between the four nearest ones.
template <typename T>
void interpolate(const Sample& sample, const T* from, double y, double x, T* to) {
  const double top = std::floor(y);
  const double left = std::floor(x);
  const auto down = static_cast<float>(y - top);
  const auto right = static_cast<float>(x - left);
  const auto at_y = static_cast<int64_t>(top);
  const auto at_x = static_cast<int64_t>(left);
  for (int64_t c = 0; c < sample.channels; ++c) {
    float value = 0;
    for (int64_t n = 0; n < 4; ++n) {
      const int64_t row = at_y + n / 2;
      const int64_t column = at_x + n % 2;
      if (row < 0 || row >= sample.height || column < 0 || column >= sample.width) continue;
      const float share = (n / 2 == 0 ? 1 - down : down) * (n % 2 == 0 ? 1 - right : right);
      value +=
          share * static_cast<float>(from[(row * sample.width + column) * sample.channels + c]);
    }
    to[c] = stored<T>(value);
  }
}

// Each pixel of the result looks for where it comes from: the opposite of the warp.
template <typename T>
void put(const Sample& sample, const Warp& warp, T* to) {
  const double cosine = std::cos(warp.angle) / warp.scale;
  const double sine = std::sin(warp.angle) / warp.scale;
  const double middle_y = static_cast<double>(sample.height - 1) / 2;
  const double middle_x = static_cast<double>(sample.width - 1) / 2;
  for (int64_t y = 0; y < sample.height; ++y) {
    const double dy = static_cast<double>(y) - middle_y;
    for (int64_t x = 0; x < sample.width; ++x, to += sample.channels) {
      const double dx = static_cast<double>(x) - middle_x;
      interpolate(sample, static_cast<const T*>(sample.values), middle_y + cosine * dy - sine * dx,
                  middle_x + cosine * dx + sine * dy, to);
    }
  }
}

}  // namespace

Warp place_warp(const Augment& augment, const SampleKey& key) {
  const auto words = draw(key, 0, kWarp);
  Warp warp;
  warp.angle = around_zero(words[0], augment.rotate * std::numbers::pi / 180);
  if (augment.scale_least > 0) {
    warp.scale = augment.scale_least + (augment.scale_most - augment.scale_least) * unit(words[1]);
  }
  return warp;
}

Sample warped(const Sample& sample, const Warp& warp, Scratch& scratch) {
  scratch.warped.resize(static_cast<size_t>(sample.height * sample.width * sample.channels) *
                        size_of(sample.dtype));
  if (sample.dtype == DType::u8) {
    put(sample, warp, scratch.warped.data());
  } else {
    put(sample, warp, reinterpret_cast<float*>(scratch.warped.data()));
  }
  Sample result = sample;
  result.values = scratch.warped.data();
  return result;
}

}  // namespace syrtos::data
