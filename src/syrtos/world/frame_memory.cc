#include "syrtos/world/frame_memory.h"

#include <array>
#include <new>

namespace syrtos::world {

namespace {

constexpr size_t kGrain = 64;      // bytes: frames that differ by less share a list
constexpr size_t kClasses = 64;    // larger frames than these are not kept
constexpr size_t kMostKept = 512;  // of each size

#if defined(__SANITIZE_ADDRESS__)
constexpr bool kKeeps = false;  // so that the use of a frame that has ended is found
#else
constexpr bool kKeeps = true;
#endif

struct Free {
  Free* next;
};

struct List {
  Free* first = nullptr;
  size_t size = 0;
};

size_t class_of(size_t bytes) { return (bytes + kGrain - 1) / kGrain; }

thread_local bool closed = false;  // the thread ends: nothing is kept any more

/// Frames may end on another thread than they began on: then they stay there.
struct Kept {
  std::array<List, kClasses> lists{};

  ~Kept() {
    closed = true;
    for (List& list : lists) {
      while (list.first != nullptr) {
        Free* free = list.first;
        list.first = free->next;
        ::operator delete(free);
      }
    }
  }
};

thread_local Kept kept;

}  // namespace

void* allocate_frame(size_t bytes) {
  const size_t number = class_of(bytes);
  if (!kKeeps || closed || number >= kClasses) return ::operator new(number* kGrain);
  List& list = kept.lists[number];
  if (list.first == nullptr) return ::operator new(number* kGrain);
  Free* free = list.first;
  list.first = free->next;
  --list.size;
  return free;
}

void free_frame(void* frame, size_t bytes) noexcept {
  const size_t number = class_of(bytes);
  if (!kKeeps || number >= kClasses || closed || kept.lists[number].size >= kMostKept) {
    return ::operator delete(frame);
  }
  List& list = kept.lists[number];
  list.first = new (frame) Free{list.first};
  ++list.size;
}

}  // namespace syrtos::world
