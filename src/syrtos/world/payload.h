#pragma once

#include <cstddef>
#include <string>

namespace syrtos::world {

/// What is sent. Without data only the size travels: simulated worlds can carry sizes alone.
struct Source {
  const void* data = nullptr;
  size_t bytes = 0;
};

/// What becomes of arriving bytes. Adding as they arrive saves a pass over memory.
enum class Landing {
  store,
  add,        ///< f32, added to the f32 that are there
  widen,      ///< bf16, stored as f32
  widen_add,  ///< bf16, added to the f32 that are there
};

/// Where a message goes: `bytes` is its size on the wire.
struct Target {
  void* data = nullptr;
  size_t bytes = 0;
  Landing landing = Landing::store;
};

/// Parts of a message that is landed piece by piece begin and end at multiples of this.
constexpr size_t kLandingGrain = 4;

/// Lands `bytes` that belong at `offset` of the message. Nothing happens without data.
void land(const Target& target, size_t offset, const void* data, size_t bytes);

}  // namespace syrtos::world
