#include "syrtos/graph/stages.h"

#include <algorithm>

#include "syrtos/base/error.h"

namespace syrtos::graph {

std::vector<Stage> stages_of(const Program& program, std::span<const int> bucket_of) {
  SYRTOS_CHECK(bucket_of.size() == program.parameters().slots().size());
  const int buckets =
      bucket_of.empty() ? 0 : *std::max_element(bucket_of.begin(), bucket_of.end()) + 1;
  std::vector<int> unfinished(static_cast<size_t>(buckets));  // slots of each bucket
  for (const int bucket : bucket_of) ++unfinished[static_cast<size_t>(bucket)];
  std::vector<bool> needed(static_cast<size_t>(buckets));

  std::vector<Stage> stages(1);
  const auto begin_stage = [&](size_t item) {
    if (stages.back().last > stages.back().first) stages.push_back({item, item});
  };
  for (size_t i = 0; i < program.items().size(); ++i) {
    const Program::Item& item = program.items()[i];
    for (const int slot : program.slots_read(item)) {
      const auto bucket = static_cast<size_t>(bucket_of[static_cast<size_t>(slot)]);
      if (needed[bucket]) continue;
      needed[bucket] = true;
      if (stages.back().last == i) begin_stage(i);
      stages.back().needs.push_back(static_cast<int>(bucket));
    }
    stages.back().last = i + 1;
    for (const int slot : item.finishes) {
      const auto bucket = static_cast<size_t>(bucket_of[static_cast<size_t>(slot)]);
      if (--unfinished[bucket] == 0) stages.back().finishes.push_back(static_cast<int>(bucket));
    }
    if (!item.sums.empty()) stages.back().sums.push_back(item.sums);
    if (!stages.back().finishes.empty() || !item.sums.empty()) begin_stage(i + 1);
  }
  if (stages.back().first == stages.back().last && stages.size() > 1) stages.pop_back();
  return stages;
}

}  // namespace syrtos::graph
