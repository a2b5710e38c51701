#include "syrtos/graph/memory_plan.h"

#include <gtest/gtest.h>

#include <random>

#include "syrtos/tensor/buffer.h"

namespace syrtos::graph {
namespace {

bool overlap_in_time(const Lifetime& a, const Lifetime& b) {
  return a.first <= b.last && b.first <= a.last;
}

TEST(MemoryPlan, NeverLetsTwoLivingBlocksOverlap) {
  for (uint32_t seed = 1; seed <= 50; ++seed) {
    std::mt19937 random(seed);
    std::vector<Lifetime> lives;
    for (int i = 0; i < 80; ++i) {
      const int first = static_cast<int>(random() % 60);
      lives.push_back({random() % 5000, first, first + static_cast<int>(random() % 20)});
    }
    const MemoryPlan plan = plan_memory(lives);
    EXPECT_GE(plan.bytes, memory_lower_bound(lives));
    for (size_t i = 0; i < lives.size(); ++i) {
      EXPECT_EQ(plan.offsets[i] % Buffer::kAlignment, 0U);
      EXPECT_LE(plan.offsets[i] + lives[i].bytes, plan.bytes);
      for (size_t j = 0; j < i; ++j) {
        if (!overlap_in_time(lives[i], lives[j])) continue;
        const bool apart = plan.offsets[i] + lives[i].bytes <= plan.offsets[j] ||
                           plan.offsets[j] + lives[j].bytes <= plan.offsets[i];
        EXPECT_TRUE(apart || lives[i].bytes == 0 || lives[j].bytes == 0) << "seed " << seed;
      }
    }
  }
}

TEST(MemoryPlan, ReusesMemoryOfTheDead) {
  const MemoryPlan plan = plan_memory({{1024, 0, 1}, {1024, 1, 2}, {1024, 2, 3}, {1024, 3, 4}});
  EXPECT_EQ(plan.bytes, 2048U);
}

TEST(MemoryPlan, OfNothingIsEmpty) { EXPECT_EQ(plan_memory({}).bytes, 0U); }

}  // namespace
}  // namespace syrtos::graph
