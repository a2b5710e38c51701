#include "syrtos/graph/pass_parts.h"

#include <algorithm>

#include "syrtos/base/error.h"

namespace syrtos::graph {

std::vector<PassPart> parts_of_pass(const Program& program, std::span<const int> bucket_of) {
  SYRTOS_CHECK(bucket_of.size() <= program.parameters().slots().size());
  const int buckets =
      bucket_of.empty() ? 0 : *std::max_element(bucket_of.begin(), bucket_of.end()) + 1;
  const auto belongs = [&](int slot) { return static_cast<size_t>(slot) < bucket_of.size(); };
  std::vector<int> unfinished(static_cast<size_t>(buckets));  // slots of each bucket
  for (const Program::Item& item : program.items()) {
    for (const int slot : item.finishes) {
      ++unfinished[static_cast<size_t>(bucket_of[static_cast<size_t>(slot)])];
    }
  }
  std::vector<int> without;  // buckets that have no gradient
  for (int bucket = 0; bucket < buckets; ++bucket) {
    if (unfinished[static_cast<size_t>(bucket)] == 0) without.push_back(bucket);
  }
  std::vector<bool> needed(static_cast<size_t>(buckets));

  std::vector<PassPart> parts(1);
  const auto begin_part = [&](size_t item) {
    if (parts.back().last > parts.back().first) parts.push_back({item, item});
  };
  const std::vector<Program::Message>& messages = program.messages();
  for (size_t i = 0; i < program.items().size(); ++i) {
    const Program::Item& item = program.items()[i];
    if (parts.back().last > parts.back().first && parts.back().phase != item.phase) begin_part(i);
    for (const Program::Message& message : messages) {
      if (!message.arrives || message.item != i) continue;
      begin_part(i);
      parts.back().arrives.push_back(&message);
    }
    for (const int slot : program.slots_read(item)) {
      if (!belongs(slot)) continue;
      const auto bucket = static_cast<size_t>(bucket_of[static_cast<size_t>(slot)]);
      if (needed[bucket]) continue;
      needed[bucket] = true;
      if (parts.back().last == i) begin_part(i);
      parts.back().needs.push_back(static_cast<int>(bucket));
    }
    if (parts.back().last == parts.back().first) parts.back().phase = item.phase;
    parts.back().last = i + 1;
    for (const int slot : item.finishes) {
      const auto bucket = static_cast<size_t>(bucket_of[static_cast<size_t>(slot)]);
      if (--unfinished[bucket] == 0) parts.back().finishes.push_back(static_cast<int>(bucket));
    }
    if (!item.sums.empty()) parts.back().sums.push_back(item.sums);
    parts.back().blocks = item.blocks;
    for (const Program::Message& message : messages) {
      const bool first = message.item == 0 && i == 0;
      if (!message.arrives && (message.item == i + 1 || first)) {
        parts.back().leaves.push_back(&message);
      }
    }
    if (!parts.back().finishes.empty() || item.is_first_half() || !parts.back().leaves.empty()) {
      begin_part(i + 1);
    }
  }
  if (parts.back().first == parts.back().last && parts.size() > 1) parts.pop_back();
  // What nobody reads comes all the same.
  for (const Program::Message& message : messages) {
    if (message.arrives && message.item >= program.items().size()) {
      parts.back().arrives.push_back(&message);
    }
  }
  parts.back().finishes.insert(parts.back().finishes.end(), without.begin(), without.end());
  return parts;
}

}  // namespace syrtos::graph
