#pragma once

#include <span>
#include <vector>

#include "syrtos/graph/program.h"

namespace syrtos::graph {

/// A part of a program between two points at which weights are needed, gradients become final or
/// sums are to be added up over all workers.
struct PassPart {
  size_t first = 0;  ///< items first .. last - 1
  size_t last = 0;
  std::vector<int> needs = {};     ///< buckets whose weights are read here for the first time
  std::vector<int> finishes = {};  ///< buckets whose gradients are final after it
  /// What is added up over all workers, in place and in f32, before the next part starts. All
  /// workers have them in the same parts and of the same sizes, whatever their batch sizes are.
  std::vector<std::span<float>> sums = {};
};

/// Cuts a program so that each part can start when the buckets it needs are there, and each
/// bucket's gradient is known to be final as early as it is. `bucket_of` maps slots to buckets 0,
/// 1, ... All parts in order are the program.
std::vector<PassPart> parts_of_pass(const Program& program, std::span<const int> bucket_of);

}  // namespace syrtos::graph
