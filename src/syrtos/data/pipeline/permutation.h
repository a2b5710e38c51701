#pragma once

#include <cstdint>

namespace syrtos::data {

/// The order of one epoch: a permutation of 0 .. size-1 as a pure function of seed and epoch. Any
/// position can be asked for on its own, so workers and resumed runs need no common state.
/// A Feistel network over the next power of four, walked until the value is below size.
class Permutation {
 public:
  Permutation(int64_t size, uint64_t seed, int64_t epoch);

  int64_t size() const { return size_; }
  /// The sample at this position. 0 <= position < size.
  int64_t operator[](int64_t position) const;

 private:
  uint64_t encrypt(uint64_t value) const;

  int64_t size_;
  uint64_t seed_;
  uint32_t epoch_;
  int half_bits_;
};

}  // namespace syrtos::data
