#pragma once

#include "syrtos/base/philox.h"
#include "syrtos/data/pipeline/augment.h"

namespace syrtos::data {

/// Random words for one use of a sample: `number` counts them, each purpose has a stream of its
/// own.
inline Philox::Counter draw(const SampleKey& key, uint32_t number, uint32_t purpose) {
  return philox(
      {static_cast<uint32_t>(key.seed), static_cast<uint32_t>(key.seed >> 32)},
      {static_cast<uint32_t>(key.sample), static_cast<uint32_t>(key.epoch), number, purpose});
}

/// A random whole number from 0 to n - 1.
inline int64_t below(uint32_t word, int64_t n) {
  return static_cast<int64_t>((static_cast<uint64_t>(word) * static_cast<uint64_t>(n)) >> 32);
}

/// A random number in [0, 1).
inline double unit(uint32_t word) { return word * 0x1p-32; }

/// A random number in [-most, most).
inline double around_zero(uint32_t word, double most) { return most * (2 * unit(word) - 1); }

}  // namespace syrtos::data
