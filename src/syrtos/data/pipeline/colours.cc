#include "syrtos/data/pipeline/colours.h"

#include <algorithm>
#include <cmath>

#include "syrtos/data/pipeline/draws.h"

namespace syrtos::data {

namespace {

constexpr uint32_t kColours = 0x636f6c6f;

struct Colour {
  float red, green, blue;
};

float grey_of(const Colour& c) { return 0.299F * c.red + 0.587F * c.green + 0.114F * c.blue; }

uint8_t rounded(float value) {
  return static_cast<uint8_t>(std::clamp(value, 0.0F, 255.0F) + 0.5F);
}

/// What is `times` as far from `other` as `value` is, within what a byte holds.
float away(float value, float other, float times) {
  return std::clamp(other + times * (value - other), 0.0F, 255.0F);
}

/// One of red, green and blue for a hue from 0 to 6 (red is 0), as HSV has it.
float of_hue(float hue, float shift, float value, float range) {
  const float k = std::fmod(shift + hue, 6.0F);
  return value - range * std::clamp(std::min(k, 4 - k), 0.0F, 1.0F);
}

Colour turned(const Colour& c, float turn) {
  const float value = std::max({c.red, c.green, c.blue});
  const float range = value - std::min({c.red, c.green, c.blue});
  if (range == 0) return c;
  float hue = value == c.red     ? (c.green - c.blue) / range
              : value == c.green ? 2 + (c.blue - c.red) / range
                                 : 4 + (c.red - c.green) / range;
  hue = std::fmod(hue + 6 * turn + 12, 6.0F);
  return {of_hue(hue, 5, value, range), of_hue(hue, 3, value, range), of_hue(hue, 1, value, range)};
}

float mean_grey(int64_t pixels, int64_t channels, const uint8_t* values, float brightness) {
  double sum = 0;
  const auto bright = [&](int64_t at) {
    return std::min(255.0F, brightness * static_cast<float>(values[at]));
  };
  for (int64_t i = 0; i < pixels; ++i) {
    const int64_t at = i * channels;
    sum += channels == 1 ? bright(at) : grey_of({bright(at), bright(at + 1), bright(at + 2)});
  }
  return static_cast<float>(sum / static_cast<double>(pixels));
}

}  // namespace

ColourChange place_colours(const Augment& augment, const SampleKey& key) {
  const auto words = draw(key, 0, kColours);
  const auto factor = [&](size_t word, double most) {
    return static_cast<float>(std::max(0.0, 1 + around_zero(words[word], most)));
  };
  return {.brightness = factor(0, augment.brightness),
          .contrast = factor(1, augment.contrast),
          .saturation = factor(2, augment.saturation),
          .hue = static_cast<float>(around_zero(words[3], augment.hue))};
}

void change_colours(const ColourChange& change, int64_t pixels, int64_t channels, uint8_t* values) {
  if (channels != 1 && channels != 3) return;
  const float mean =
      change.contrast == 1 ? 0 : mean_grey(pixels, channels, values, change.brightness);
  const auto first = [&](uint8_t value) {
    const float bright = std::min(255.0F, change.brightness * static_cast<float>(value));
    return change.contrast == 1 ? bright : away(bright, mean, change.contrast);
  };
  if (channels == 1) {
    std::transform(values, values + pixels, values, [&](uint8_t v) { return rounded(first(v)); });
    return;
  }
  for (int64_t i = 0; i < pixels; ++i) {
    uint8_t* pixel = values + 3 * i;
    Colour c{first(pixel[0]), first(pixel[1]), first(pixel[2])};
    if (change.saturation != 1) {
      const float grey = grey_of(c);
      c = {away(c.red, grey, change.saturation), away(c.green, grey, change.saturation),
           away(c.blue, grey, change.saturation)};
    }
    if (change.hue != 0) c = turned(c, change.hue);
    pixel[0] = rounded(c.red);
    pixel[1] = rounded(c.green);
    pixel[2] = rounded(c.blue);
  }
}

}  // namespace syrtos::data
