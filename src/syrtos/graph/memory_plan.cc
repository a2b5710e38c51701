#include "syrtos/graph/memory_plan.h"

#include <algorithm>
#include <numeric>

#include "syrtos/tensor/buffer.h"

namespace syrtos::graph {

MemoryPlan plan_memory(const std::vector<Lifetime>& lifetimes) {
  std::vector<size_t> order(lifetimes.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return lifetimes[a].bytes > lifetimes[b].bytes; });

  MemoryPlan plan;
  plan.offsets.resize(lifetimes.size(), 0);
  std::vector<size_t> placed;  // sorted by offset
  for (const size_t block : order) {
    const Lifetime& life = lifetimes[block];
    if (life.bytes == 0) continue;
    const size_t bytes = align_up(life.bytes);
    size_t offset = 0;
    for (const size_t other : placed) {
      if (lifetimes[other].last < life.first || life.last < lifetimes[other].first) continue;
      if (offset + bytes <= plan.offsets[other]) break;
      offset = std::max(offset, plan.offsets[other] + align_up(lifetimes[other].bytes));
    }
    plan.offsets[block] = offset;
    plan.bytes = std::max(plan.bytes, offset + bytes);
    placed.insert(
        std::upper_bound(placed.begin(), placed.end(), block,
                         [&](size_t a, size_t b) { return plan.offsets[a] < plan.offsets[b]; }),
        block);
  }
  return plan;
}

size_t memory_lower_bound(const std::vector<Lifetime>& lifetimes) {
  int end = 0;
  for (const Lifetime& life : lifetimes) end = std::max(end, life.last);
  std::vector<size_t> alive(static_cast<size_t>(end) + 1, 0);
  for (const Lifetime& life : lifetimes) {
    for (int i = life.first; i <= life.last; ++i)
      alive[static_cast<size_t>(i)] += align_up(life.bytes);
  }
  return alive.empty() ? 0 : *std::max_element(alive.begin(), alive.end());
}

}  // namespace syrtos::graph
