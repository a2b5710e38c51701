#pragma once

#include <cstddef>
#include <vector>

namespace syrtos::graph {

/// A block of memory that must exist from one step of a program to another, both inclusive.
struct Lifetime {
  size_t bytes = 0;
  int first = 0;
  int last = 0;
};

struct MemoryPlan {
  std::vector<size_t> offsets;  ///< one for each lifetime, aligned to Buffer::kAlignment
  size_t bytes = 0;             ///< of the arena
};

/// Places blocks so that those alive at the same time do not overlap: largest first, each at the
/// lowest offset that is free during its whole life.
MemoryPlan plan_memory(const std::vector<Lifetime>& lifetimes);

/// The largest sum of bytes alive at one time: no plan can be smaller.
size_t memory_lower_bound(const std::vector<Lifetime>& lifetimes);

}  // namespace syrtos::graph
