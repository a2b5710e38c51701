#include "syrtos/world/payload.h"

#include <cstdint>
#include <cstring>

#include "syrtos/base/error.h"

namespace syrtos::world {

namespace {

float widened(uint16_t bits) {
  const uint32_t wide = static_cast<uint32_t>(bits) << 16;
  float value;
  std::memcpy(&value, &wide, sizeof(value));
  return value;
}

void add(float* __restrict to, const float* __restrict from, size_t n) {
  for (size_t i = 0; i < n; ++i) to[i] += from[i];
}

void widen(float* __restrict to, const uint16_t* __restrict from, size_t n) {
  for (size_t i = 0; i < n; ++i) to[i] = widened(from[i]);
}

void widen_add(float* __restrict to, const uint16_t* __restrict from, size_t n) {
  for (size_t i = 0; i < n; ++i) to[i] += widened(from[i]);
}

}  // namespace

void land(const Target& target, size_t offset, const void* data, size_t bytes) {
  if (target.data == nullptr || data == nullptr || bytes == 0) return;
  SYRTOS_CHECK(offset + bytes <= target.bytes, "{} + {} of {}", offset, bytes, target.bytes);
  auto* to = static_cast<std::byte*>(target.data) + offset;
  // Two bytes of the wire become four.
  auto* wide = reinterpret_cast<float*>(static_cast<std::byte*>(target.data) + 2 * offset);
  switch (target.landing) {
    case Landing::store:
      std::memcpy(to, data, bytes);
      break;
    case Landing::add:
      add(reinterpret_cast<float*>(to), static_cast<const float*>(data), bytes / sizeof(float));
      break;
    case Landing::widen:
      widen(wide, static_cast<const uint16_t*>(data), bytes / sizeof(uint16_t));
      break;
    case Landing::widen_add:
      widen_add(wide, static_cast<const uint16_t*>(data), bytes / sizeof(uint16_t));
      break;
  }
}

}  // namespace syrtos::world
