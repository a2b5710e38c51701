#include "syrtos/data/pipeline/permutation.h"

#include "syrtos/base/error.h"
#include "syrtos/base/philox.h"

namespace syrtos::data {

namespace {
constexpr int kRounds = 6;
constexpr uint32_t kPurpose = 0x73687566;  // sets this stream apart from other uses of the seed
}  // namespace

Permutation::Permutation(int64_t size, uint64_t seed, int64_t epoch)
    : size_(size), seed_(seed), epoch_(static_cast<uint32_t>(epoch)), half_bits_(1) {
  SYRTOS_CHECK(size >= 1 && size <= (int64_t{1} << 60), "size {}", size);
  while ((int64_t{1} << (2 * half_bits_)) < size) ++half_bits_;
}

uint64_t Permutation::encrypt(uint64_t value) const {
  const uint64_t mask = (uint64_t{1} << half_bits_) - 1;
  uint64_t left = value >> half_bits_;
  uint64_t right = value & mask;
  for (uint32_t round = 0; round < kRounds; ++round) {
    const auto words = philox({static_cast<uint32_t>(seed_), static_cast<uint32_t>(seed_ >> 32)},
                              {static_cast<uint32_t>(right), epoch_, round, kPurpose});
    const uint64_t next = left ^ (words[0] & mask);
    left = right;
    right = next;
  }
  return left << half_bits_ | right;
}

int64_t Permutation::operator[](int64_t position) const {
  SYRTOS_CHECK(position >= 0 && position < size_, "position {} of {}", position, size_);
  auto value = static_cast<uint64_t>(position);
  do {
    value = encrypt(value);
  } while (value >= static_cast<uint64_t>(size_));
  return static_cast<int64_t>(value);
}

}  // namespace syrtos::data
