#pragma once

#include <span>
#include <vector>

#include "syrtos/graph/program.h"

namespace syrtos::graph {

/// A part of a program between two points at which weights are needed, gradients become final or
/// workers exchange something.
struct PassPart {
  size_t first = 0;  ///< items first .. last - 1
  size_t last = 0;
  std::vector<int> needs = {};     ///< buckets whose weights are read here for the first time
  std::vector<int> finishes = {};  ///< buckets whose gradients are final after it
  /// What is added up over all workers, in place and in f32, before the next part starts. All
  /// workers have them in the same parts and of the same sizes, whatever their batch sizes are.
  std::vector<std::span<float>> sums = {};
  /// What crosses between workers before the next part starts; at most one of these and the sums.
  const ops::BlockExchange* blocks = nullptr;
  /// What comes from other parts of the network before it, and leaves for them after it.
  std::vector<const Program::Message*> arrives = {};
  std::vector<const Program::Message*> leaves = {};
  Phase phase = Phase::forward;  ///< of its first item
};

/// Cuts a program so that each part can start when the buckets it needs are there, and each
/// bucket's gradient is known to be final as early as it is. `bucket_of` maps slots to buckets 0,
/// 1, ...; slots behind its end, which are frozen, belong to none. A bucket of which the program
/// computes no gradient is final at the end. It is also cut between forward and backward, where
/// other work can come in between, and, if it is part of a network, where something arrives or has
/// left. All parts in order are the program.
std::vector<PassPart> parts_of_pass(const Program& program, std::span<const int> bucket_of);

}  // namespace syrtos::graph
