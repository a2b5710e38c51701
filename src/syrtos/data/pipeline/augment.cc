#include "syrtos/data/pipeline/augment.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numbers>
#include <vector>

#include "syrtos/base/error.h"
#include "syrtos/base/philox.h"

namespace syrtos::data {

namespace {

constexpr uint32_t kPlace = 0x706c6163;  // purposes of the streams
constexpr uint32_t kFirstFlip = 0x666c6970;
constexpr uint32_t kWindow = 0x77696e64;
constexpr uint32_t kNoise = 0x6e6f6973;

constexpr const char* kExpected =
    "expected a list of crop:PIXELS, crop:PIXELS:reflect, flip, flip:alternate, cutout:SIDE, "
    "resized-crop or resized-crop:LEAST-AREA, shift:VALUES, noise:DEVIATION, or none";

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const size_t at = text.find(separator);
    std::string_view part = text.substr(0, at);
    while (part.starts_with(' ')) part.remove_prefix(1);
    while (part.ends_with(' ')) part.remove_suffix(1);
    parts.push_back(part);
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

double parse_amount(std::string_view text, std::string_view step, double least, double most) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !(value >= least) ||
      !(value <= most)) {
    fail_request("--augment: {}: expected a number from {} to {}, found '{}'", step, least, most,
                 text);
  }
  return value;
}

void parse_step(Augment& augment, std::string_view step) {
  constexpr double kMost = 4096;
  const std::vector<std::string_view> words = split(step, ':');
  const std::string_view name = words[0];
  const auto whole = [&] {
    const double value = parse_amount(words[1], step, 1, kMost);
    if (value != std::floor(value)) {
      fail_request("--augment: {}: expected a whole number, found '{}'", step, words[1]);
    }
    return static_cast<int64_t>(value);
  };
  if (name == "crop" && (words.size() == 2 || (words.size() == 3 && words[2] == "reflect"))) {
    augment.crop = whole();
    augment.crop_reflected = words.size() == 3;
  } else if (step == "flip") {
    augment.flip = Flip::random;
  } else if (step == "flip:alternate") {
    augment.flip = Flip::alternating;
  } else if (name == "cutout" && words.size() == 2) {
    augment.cutout = whole();
  } else if (name == "resized-crop" && words.size() <= 2) {
    augment.resized_crop = words.size() == 2 ? parse_amount(words[1], step, 0.01, 1) : 0.08;
  } else if (name == "shift" && words.size() == 2) {
    augment.shift = whole();
  } else if (name == "noise" && words.size() == 2) {
    augment.noise = parse_amount(words[1], step, 0, kMost);
  } else {
    fail_request("--augment: {}, found '{}'", kExpected, step);
  }
}

Philox::Key key_of(const SampleKey& key) {
  return {static_cast<uint32_t>(key.seed), static_cast<uint32_t>(key.seed >> 32)};
}

Philox::Counter draw(const SampleKey& key, uint32_t number, uint32_t purpose) {
  return philox(key_of(key), {static_cast<uint32_t>(key.sample), static_cast<uint32_t>(key.epoch),
                              number, purpose});
}

/// A random whole number from 0 to n - 1.
int64_t below(uint32_t word, int64_t n) {
  return static_cast<int64_t>((static_cast<uint64_t>(word) * static_cast<uint64_t>(n)) >> 32);
}

/// A random number in [0, 1).
double unit(uint32_t word) { return word * 0x1p-32; }

bool flipped(Flip flip, const SampleKey& key, uint32_t word) {
  if (flip == Flip::none) return false;
  if (flip == Flip::random) return (word & 1U) != 0;
  const uint32_t first =
      philox(key_of(key), {static_cast<uint32_t>(key.sample), 0, 0, kFirstFlip})[0];
  return ((first ^ static_cast<uint32_t>(key.epoch)) & 1U) != 0;
}

}  // namespace

bool Augment::empty() const {
  return crop == 0 && flip == Flip::none && cutout == 0 && resized_crop == 0 && shift == 0 &&
         noise == 0;
}

Augment parse_augment(std::string_view text) {
  Augment augment;
  if (text.empty() || text == "none") return augment;
  for (const std::string_view step : split(text, ',')) parse_step(augment, step);
  if (augment.crop > 0 && augment.shift > 0) {
    fail_request("--augment: expected crop (of pictures) or shift (of signals), found both");
  }
  return augment;
}

std::string to_string(const Augment& augment) {
  std::vector<std::string> steps;
  if (augment.resized_crop > 0)
    steps.push_back(fmt::format("resized-crop:{}", augment.resized_crop));
  if (augment.crop > 0) {
    steps.push_back(
        fmt::format("crop:{}{}", augment.crop, augment.crop_reflected ? ":reflect" : ""));
  }
  if (augment.flip != Flip::none) {
    steps.emplace_back(augment.flip == Flip::random ? "flip" : "flip:alternate");
  }
  if (augment.cutout > 0) steps.push_back(fmt::format("cutout:{}", augment.cutout));
  if (augment.shift > 0) steps.push_back(fmt::format("shift:{}", augment.shift));
  if (augment.noise > 0) steps.push_back(fmt::format("noise:{}", augment.noise));
  return steps.empty() ? "none" : fmt::format("{}", fmt::join(steps, ","));
}

Placement place(const Augment& augment, const SampleKey& key, int64_t height, int64_t width) {
  Placement placement;
  if (augment.empty()) return placement;
  const auto words = draw(key, 0, kPlace);
  placement.flip = flipped(augment.flip, key, words[0]);
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
    placement.cut_side = augment.cutout;
    placement.cut_top = below(more[0], height) - augment.cutout / 2;
    placement.cut_left = below(more[1], width) - augment.cutout / 2;
  }
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
