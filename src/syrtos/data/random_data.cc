#include "syrtos/data/random_data.h"

#include "syrtos/base/philox.h"

namespace syrtos::data {

namespace {

constexpr uint32_t kImages = 0x696d6167;  // purposes of the streams
constexpr uint32_t kLabels = 0x6c61626c;

// Uniform with mean 0 and variance 1, about what normalised images have.
float to_value(uint32_t word) {
  constexpr float kRange = 1.7320508F;
  return (static_cast<float>(word >> 8) * 0x1p-23F - 1.0F) * kRange;
}

Philox::Key key_of(uint64_t seed) {
  return {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)};
}

}  // namespace

RandomDataset::RandomDataset(int64_t size, const Shape& shape, int64_t classes, uint64_t seed)
    : seed_(seed) {
  info_ = {.name = "random",
           .size = size,
           .dtype = DType::f32,
           .channels = shape[0],
           .height = shape[1],
           .width = shape[2]};
  for (int64_t k = 0; k < classes; ++k) info_.classes.push_back(std::to_string(k));
}

int32_t RandomDataset::label(int64_t index) const {
  const auto word = philox(key_of(seed_), {0, static_cast<uint32_t>(index), 0, kLabels})[0];
  return static_cast<int32_t>(word % info_.classes.size());
}

Sample RandomDataset::read(int64_t index, Scratch& scratch) const {
  const int64_t elements = info_.shape().elements();
  scratch.values.resize(static_cast<size_t>(elements) * sizeof(float));
  auto* values = reinterpret_cast<float*>(scratch.values.data());
  for (int64_t i = 0; i < elements; i += 4) {
    const auto words = philox(
        key_of(seed_), {static_cast<uint32_t>(i / 4), static_cast<uint32_t>(index), 0, kImages});
    for (int64_t k = 0; k < 4 && i + k < elements; ++k) {
      values[i + k] = to_value(words[static_cast<size_t>(k)]);
    }
  }
  return {.values = values,
          .dtype = DType::f32,
          .channels = info_.channels,
          .height = info_.height,
          .width = info_.width,
          .label = label(index)};
}

}  // namespace syrtos::data
