#include "syrtos/strategy/wire.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "syrtos/base/error.h"
#include "syrtos/collective/bf16.h"

namespace syrtos::strategy {

SparseGradient Residue::encode(const Floats& gradient) {
  SparseGradient sparse;
  if (gradient.data == nullptr) {
    sparse.words.resize(gradient.count / 1000);
    return sparse;
  }
  left_.resize(gradient.count);
  for (size_t i = 0; i < gradient.count; ++i) {
    const float sum = left_[i] + gradient.data[i];
    // Kept back, it would stay there for good, and nobody would learn of it.
    if (!std::isfinite(sum)) {
      fail_run(
          "a gradient is {}: the learning rate is too high for this network, or its data has "
          "values "
          "that are not numbers",
          gradient.data[i]);
    }
    const auto index = static_cast<uint32_t>(2 * i);
    if (sum > threshold_) {
      sparse.words.push_back(index);
      left_[i] = sum - threshold_;
    } else if (sum < -threshold_) {
      sparse.words.push_back(index + 1);
      left_[i] = sum + threshold_;
    } else {
      left_[i] = sum;
    }
  }
  return sparse;
}

void add_sparse(std::span<const uint32_t> words, float threshold, const Floats& gradient) {
  if (gradient.data == nullptr) return;
  for (const uint32_t word : words) {
    const size_t index = word / 2;
    if (index >= gradient.count) {
      fail_run("a sparse gradient has element {} of {}: do all ranks train the same network?",
               index, gradient.count);
    }
    gradient.data[index] += (word & 1U) == 0 ? threshold : -threshold;
  }
}

void decode_sum(const std::vector<std::vector<std::byte>>& all, float threshold,
                const Floats& gradient) {
  if (gradient.data == nullptr) return;
  std::fill_n(gradient.data, gradient.count, 0.0F);
  std::vector<uint32_t> words;
  for (const std::vector<std::byte>& bytes : all) {
    if (bytes.empty()) continue;  // it has no memory to copy from
    words.resize(bytes.size() / sizeof(uint32_t));
    std::memcpy(words.data(), bytes.data(), words.size() * sizeof(uint32_t));
    add_sparse(words, threshold, gradient);
  }
}

void pack_bf16(const Floats& values, std::vector<uint16_t>& packed) {
  if (values.data == nullptr) return;
  packed.resize(values.count);
  collective::round_to_bf16(values.data, packed.data(), values.count);
}

void scale(const Floats& gradient, double factor) {
  if (factor == 1 || gradient.data == nullptr) return;
  const auto by = static_cast<float>(factor);
  for (size_t i = 0; i < gradient.count; ++i) gradient.data[i] *= by;
}

}  // namespace syrtos::strategy
