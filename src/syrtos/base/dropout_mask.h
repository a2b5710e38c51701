#pragma once

#include <cstdint>

#include "syrtos/base/philox.h"

namespace syrtos {

/// What a dropout mask depends on besides the sample and the element within it: never on threads or
/// on which worker holds the sample. Only the low 32 bits of step and sample count.
struct DropoutStream {
  uint64_t seed = 0;
  uint32_t layer = 0;
  int64_t step = 0;
};

/// Elements whose words are below this are dropped; 0 <= rate < 1.
constexpr uint32_t dropout_threshold(float rate) {
  return static_cast<uint32_t>(static_cast<double>(rate) * 4294967296.0);
}

/// The random word of one element. Philox gives 4 words per counter; elements are taken in groups
/// of 64 = 4 words x 16 counters with the counters running fastest, which is the order in which
/// vector code has them at hand.
constexpr uint32_t dropout_word(const DropoutStream& stream, int64_t sample, int64_t element) {
  const auto counter = static_cast<uint32_t>(element / 64 * 16 + element % 16);
  const auto word = static_cast<unsigned>(element / 16 % 4);
  return philox({static_cast<uint32_t>(stream.seed), static_cast<uint32_t>(stream.seed >> 32)},
                {counter, static_cast<uint32_t>(sample), static_cast<uint32_t>(stream.step),
                 stream.layer})[word];
}

/// The factor of one element: 0 or 1 / (1 - rate).
constexpr float dropout_factor(const DropoutStream& stream, float rate, int64_t sample,
                               int64_t element) {
  const bool kept = dropout_word(stream, sample, element) >= dropout_threshold(rate);
  return kept ? 1.0f / (1.0f - rate) : 0.0f;
}

}  // namespace syrtos
