#pragma once

#include <array>
#include <cstdint>

namespace syrtos {

/// Philox-4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011): four random
/// words as a pure function of a key and a counter. No state, so any thread or worker can make any
/// part of a stream.
struct Philox {
  static constexpr uint32_t kMultiplier0 = 0xD2511F53;
  static constexpr uint32_t kMultiplier1 = 0xCD9E8D57;
  static constexpr uint32_t kWeyl0 = 0x9E3779B9;  // golden ratio
  static constexpr uint32_t kWeyl1 = 0xBB67AE85;  // sqrt(3) - 1
  static constexpr int kRounds = 10;

  using Counter = std::array<uint32_t, 4>;
  using Key = std::array<uint32_t, 2>;
};

constexpr Philox::Counter philox(Philox::Key key, Philox::Counter counter) {
  for (int round = 0; round < Philox::kRounds; ++round) {
    const uint64_t product0 = uint64_t{Philox::kMultiplier0} * counter[0];
    const uint64_t product1 = uint64_t{Philox::kMultiplier1} * counter[2];
    counter = {static_cast<uint32_t>(product1 >> 32) ^ counter[1] ^ key[0],
               static_cast<uint32_t>(product1),
               static_cast<uint32_t>(product0 >> 32) ^ counter[3] ^ key[1],
               static_cast<uint32_t>(product0)};
    key[0] += Philox::kWeyl0;
    key[1] += Philox::kWeyl1;
  }
  return counter;
}

}  // namespace syrtos
