#include "syrtos/data/sets/random_data.h"

#include <algorithm>
#include <cmath>

#include "syrtos/base/philox.h"

namespace syrtos::data {

namespace {

constexpr uint32_t kImages = 0x696d6167;  // purposes of the streams
constexpr uint32_t kLabels = 0x6c61626c;
constexpr uint32_t kPlaces = 0x706c6163;
constexpr uint32_t kMostPlaces = 1 << 16;

constexpr float kRange = 1.7320508F;

// Uniform with mean 0 and variance 1, about what normalised images have.
float to_value(uint32_t word) { return (static_cast<float>(word >> 8) * 0x1p-23F - 1.0F) * kRange; }

Philox::Key key_of(uint64_t seed) {
  return {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)};
}

}  // namespace

RandomDataset::RandomDataset(int64_t size, const Shape& shape, Kind kind, int64_t outputs,
                             uint64_t seed)
    : seed_(seed) {
  info_ = {.name = "random",
           .size = size,
           .dtype = DType::f32,
           .channels = shape[0],
           .height = shape[1],
           .width = shape[2]};
  if (kind == Kind::classes) {
    for (int64_t k = 0; k < outputs; ++k) info_.classes.push_back(std::to_string(k));
  } else {
    info_.targets = {
        .values = outputs, .shape = {outputs}, .names = {}, .binary = kind == Kind::labels};
  }
  numbers_.resize(static_cast<size_t>(std::max(shape.elements(), outputs)) + kMostPlaces);
  for (size_t i = 0; i < numbers_.size(); i += 4) {
    const auto words = philox(key_of(seed), {static_cast<uint32_t>(i / 4), 0, 0, kImages});
    for (size_t k = 0; k < 4 && i + k < numbers_.size(); ++k) numbers_[i + k] = to_value(words[k]);
  }
  if (kind != Kind::labels) return;
  for (const float number : numbers_) labels_.push_back(number > 0 ? 1 : 0);
}

void RandomDataset::make_whole(int64_t below) {
  const auto steps = static_cast<float>(below);
  for (float& number : numbers_) {
    const float share = (number / kRange + 1) / 2;  // from 0 and below 1
    number = std::min(std::floor(share * steps), steps - 1);
  }
}

Target RandomDataset::target(int64_t index) const {
  const auto word = philox(key_of(seed_), {0, static_cast<uint32_t>(index), 0, kLabels})[0];
  if (info_.targets.values > 0) {
    const std::vector<float>& from = labels_.empty() ? numbers_ : labels_;
    return {.values = std::span(from).subspan(word % kMostPlaces,
                                              static_cast<size_t>(info_.targets.values))};
  }
  return {.label = static_cast<int32_t>(word % info_.classes.size())};
}

Sample RandomDataset::read(int64_t index, Scratch&) const {
  const auto word = philox(key_of(seed_), {0, static_cast<uint32_t>(index), 0, kPlaces})[0];
  return {.values = numbers_.data() + word % kMostPlaces,
          .dtype = DType::f32,
          .channels = info_.channels,
          .height = info_.height,
          .width = info_.width,
          .target = target(index)};
}

}  // namespace syrtos::data
