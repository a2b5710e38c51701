#include "syrtos/graph/pass_parts.h"

#include <algorithm>

#include "syrtos/base/error.h"

namespace syrtos::graph {

std::vector<PassPart> parts_of_pass(const Program& program, std::span<const int> bucket_of) {
  SYRTOS_CHECK(bucket_of.size() == program.parameters().slots().size());
  const int buckets =
      bucket_of.empty() ? 0 : *std::max_element(bucket_of.begin(), bucket_of.end()) + 1;
  std::vector<int> unfinished(static_cast<size_t>(buckets));  // slots of each bucket
  for (const int bucket : bucket_of) ++unfinished[static_cast<size_t>(bucket)];
  std::vector<bool> needed(static_cast<size_t>(buckets));

  std::vector<PassPart> parts(1);
  const auto begin_part = [&](size_t item) {
    if (parts.back().last > parts.back().first) parts.push_back({item, item});
  };
  for (size_t i = 0; i < program.items().size(); ++i) {
    const Program::Item& item = program.items()[i];
    for (const int slot : program.slots_read(item)) {
      const auto bucket = static_cast<size_t>(bucket_of[static_cast<size_t>(slot)]);
      if (needed[bucket]) continue;
      needed[bucket] = true;
      if (parts.back().last == i) begin_part(i);
      parts.back().needs.push_back(static_cast<int>(bucket));
    }
    parts.back().last = i + 1;
    for (const int slot : item.finishes) {
      const auto bucket = static_cast<size_t>(bucket_of[static_cast<size_t>(slot)]);
      if (--unfinished[bucket] == 0) parts.back().finishes.push_back(static_cast<int>(bucket));
    }
    if (!item.sums.empty()) parts.back().sums.push_back(item.sums);
    if (!parts.back().finishes.empty() || !item.sums.empty()) begin_part(i + 1);
  }
  if (parts.back().first == parts.back().last && parts.size() > 1) parts.pop_back();
  return parts;
}

}  // namespace syrtos::graph
