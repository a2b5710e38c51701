#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "syrtos/strategy/replica.h"

namespace syrtos::strategy {

/// Gradients as few words (Strom 2015): only elements beyond the threshold travel, each as its
/// index and sign and worth just the threshold; what they are more, and all the others, stays
/// behind and is added to the next gradient. Nothing is lost, only late.
struct SparseGradient {
  std::vector<uint32_t> words;  ///< index * 2 + (1 for negative)
  std::span<const std::byte> bytes() const { return std::as_bytes(std::span(words)); }
  /// Where sizes alone are simulated: as many words as a thousandth of the elements.
  static SparseGradient of_size(size_t elements) {
    return {std::vector<uint32_t>(elements / 1000)};
  }
};

/// What was not sent yet of a slice.
class Residue {
 public:
  explicit Residue(float threshold) : threshold_(threshold) {}
  /// Without data: as many words as a thousandth of the elements.
  SparseGradient encode(const Floats& gradient);

 private:
  float threshold_;
  std::vector<float> left_;
};

/// gradient += threshold, or -= for negative ones, for each word. Refuses words that do not fit.
void add_sparse(std::span<const uint32_t> words, float threshold, const Floats& gradient);

/// gradient = the sum of what all sent.
void decode_sum(const std::vector<std::vector<std::byte>>& all, float threshold,
                const Floats& gradient);

/// Rounded to bf16, as they go over the wire; nothing happens without data.
void pack_bf16(const Floats& values, std::vector<uint16_t>& packed);

/// gradient *= factor; nothing for 1.
void scale(const Floats& gradient, double factor);

}  // namespace syrtos::strategy
