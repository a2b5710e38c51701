#include <algorithm>
#include <cmath>
#include <numbers>

#include "syrtos/data/pipeline/augment.h"
#include "syrtos/data/pipeline/draws.h"

namespace syrtos::data {

namespace {

constexpr uint32_t kPlace = 0x706c6163;  // purposes of the streams
constexpr uint32_t kFirstFlip = 0x666c6970;
constexpr uint32_t kWindow = 0x77696e64;
constexpr uint32_t kErase = 0x65726173;
constexpr uint32_t kNoise = 0x6e6f6973;

bool flipped(Flip flip, const SampleKey& key, uint32_t word) {
  if (flip == Flip::none) return false;
  if (flip == Flip::random) return (word & 1U) != 0;
  const uint32_t first = draw({key.seed, 0, key.sample}, 0, kFirstFlip)[0];
  return ((first ^ static_cast<uint32_t>(key.epoch)) & 1U) != 0;
}

// A rectangle of 2 to 33 % of the area, between three times as high as wide and the opposite; ten
// that do not fit leave the picture as it is.
void place_erased(double share, const SampleKey& key, int64_t height, int64_t width,
                  Placement& placement) {
  if (unit(draw(key, 0, kErase)[0]) >= share) return;
  for (uint32_t attempt = 1; attempt <= 10; ++attempt) {
    const auto words = draw(key, attempt, kErase);
    const double area = static_cast<double>(height * width) * (0.02 + 0.31 * unit(words[0]));
    const double ratio = std::exp(around_zero(words[1], std::log(10.0 / 3)));
    const auto high = static_cast<int64_t>(std::lround(std::sqrt(area * ratio)));
    const auto wide = static_cast<int64_t>(std::lround(std::sqrt(area / ratio)));
    if (high < 1 || wide < 1 || high >= height || wide >= width) continue;
    placement.cut_height = high;
    placement.cut_width = wide;
    placement.cut_top = below(words[2], height - high + 1);
    placement.cut_left = below(words[3], width - wide + 1);
    return;
  }
}

}  // namespace

Placement place(const Augment& augment, const SampleKey& key, int64_t height, int64_t width) {
  Placement placement;
  if (augment.empty()) return placement;
  const auto words = draw(key, 0, kPlace);
  placement.flip = flipped(augment.flip, key, words[0]);
  placement.upside_down = augment.flip_vertical && (words[3] & 1U) != 0;
  if (augment.crop > 0) {
    placement.down = below(words[1], 2 * augment.crop + 1) - augment.crop;
    placement.right = below(words[2], 2 * augment.crop + 1) - augment.crop;
    placement.beyond = augment.crop_reflected ? Beyond::reflected : Beyond::zero;
  }
  if (augment.shift > 0) {
    placement.right = below(words[2], 2 * augment.shift + 1) - augment.shift;
    placement.beyond = Beyond::nearest;
  }
  if (augment.cutout > 0) {
    // Its centre is anywhere, so that the corners are hidden as often as the middle.
    const auto more = draw(key, 1, kPlace);
    placement.cut_height = placement.cut_width = augment.cutout;
    placement.cut_top = below(more[0], height) - augment.cutout / 2;
    placement.cut_left = below(more[1], width) - augment.cutout / 2;
  }
  if (augment.erase > 0) place_erased(augment.erase, key, height, width, placement);
  return placement;
}

// The window has a random area and random proportions. After ten that do not fit, it is the largest
// square in the middle.
Window place_window(double least, const SampleKey& key, int64_t height, int64_t width) {
  const auto h = static_cast<double>(height);
  const auto w = static_cast<double>(width);
  for (uint32_t attempt = 0; attempt < 10; ++attempt) {
    const auto words = draw(key, attempt, kWindow);
    const double area = h * w * (least + (1 - least) * unit(words[0]));
    const double ratio = std::exp(std::log(4.0 / 3.0) * (2 * unit(words[1]) - 1));
    Window window{.height = std::sqrt(area / ratio), .width = std::sqrt(area * ratio)};
    if (window.width > w || window.height > h) continue;
    window.top = unit(words[2]) * (h - window.height);
    window.left = unit(words[3]) * (w - window.width);
    return window;
  }
  const double side = std::min(h, w);
  return {.top = (h - side) / 2, .left = (w - side) / 2, .height = side, .width = side};
}

NoisePair noise_pair(const SampleKey& key, int64_t pair) {
  const auto words = draw(key, static_cast<uint32_t>(pair), kNoise);
  const double radius = std::sqrt(-2 * std::log(1 - unit(words[0])));
  const double angle = 2 * std::numbers::pi * unit(words[1]);
  return {static_cast<float>(radius * std::cos(angle)),
          static_cast<float>(radius * std::sin(angle))};
}

}  // namespace syrtos::data
