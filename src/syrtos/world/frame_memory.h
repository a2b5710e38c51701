#pragma once

#include <cstddef>

namespace syrtos::world {

// Memory of coroutines' frames. A training step makes the same frames again and again: each thread
// keeps what ended coroutines leave, up to a limit, for those that come next, so that a step
// allocates nothing once it has run some times.

void* allocate_frame(size_t bytes);
void free_frame(void* frame, size_t bytes) noexcept;

/// The promise of a coroutine derives from this.
struct PooledFrame {
  static void* operator new(size_t bytes) { return allocate_frame(bytes); }
  static void operator delete(void* frame, size_t bytes) noexcept { free_frame(frame, bytes); }
};

}  // namespace syrtos::world
