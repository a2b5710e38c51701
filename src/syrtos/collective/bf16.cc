#include "syrtos/collective/bf16.h"

#include <bit>

namespace syrtos::collective {

namespace {

/// The upper half of its f32.
uint32_t rounded(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const uint32_t nearest = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
  const uint32_t quiet = bits >> 16 | 0x40;
  return (bits & 0x7fffffff) > 0x7f800000 ? quiet : nearest;
}

}  // namespace

void round_to_bf16(const float* __restrict from, uint16_t* __restrict to, size_t count) {
  for (size_t i = 0; i < count; ++i) to[i] = static_cast<uint16_t>(rounded(from[i]));
}

void round_as_bf16(float* values, size_t count) {
  for (size_t i = 0; i < count; ++i) values[i] = std::bit_cast<float>(rounded(values[i]) << 16);
}

Scratch::Lease Scratch::borrow(Scratch* scratch, size_t count) {
  std::vector<uint16_t> memory;
  if (scratch != nullptr && !scratch->free_.empty()) {
    memory = std::move(scratch->free_.back());
    scratch->free_.pop_back();
  }
  if (memory.size() < count) memory.resize(count);
  return {scratch, std::move(memory)};
}

}  // namespace syrtos::collective
