#include "syrtos/data/random_data.h"

#include "syrtos/base/error.h"
#include "syrtos/base/parallel.h"
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

}  // namespace

RandomDataset::RandomDataset(int64_t size, Shape image_shape, int64_t classes, uint64_t seed)
    : size_(size), image_shape_(image_shape), classes_(classes), seed_(seed) {}

void RandomDataset::fill(std::span<const int64_t> indices, const BatchView& batch) const {
  SYRTOS_CHECK(batch.labels.size() == indices.size(), "{} {}", batch.labels.size(), indices.size());
  const Philox::Key key = {static_cast<uint32_t>(seed_), static_cast<uint32_t>(seed_ >> 32)};
  const int64_t elements = image_shape_.elements();
  const auto put = [&](int64_t at, uint32_t word) {
    if (batch.dtype == DType::bf16) {
      static_cast<BFloat16*>(batch.images)[at] = BFloat16(to_value(word));
    } else {
      static_cast<float*>(batch.images)[at] = to_value(word);
    }
  };
  parallel_for(static_cast<int64_t>(indices.size()), 1, 2, [&](int64_t begin, int64_t end) {
    for (int64_t n = begin; n < end; ++n) {
      const auto sample = static_cast<uint32_t>(indices[static_cast<size_t>(n)]);
      batch.labels[static_cast<size_t>(n)] = static_cast<int32_t>(
          philox(key, {0, sample, 0, kLabels})[0] % static_cast<uint64_t>(classes_));
      for (int64_t i = 0; i < elements; i += 4) {
        const auto words = philox(key, {static_cast<uint32_t>(i / 4), sample, 0, kImages});
        for (int64_t k = 0; k < 4 && i + k < elements; ++k) {
          put(n * elements + i + k, words[static_cast<size_t>(k)]);
        }
      }
    }
  });
}

}  // namespace syrtos::data
