#pragma once

#include <string>
#include <string_view>

namespace syrtos::collective {

/// How an all-reduce goes. Each one's file says how many rounds, messages and bytes it takes.
enum class Algorithm {
  automatic,  ///< the cheapest by predicted_seconds
  ring,
  halving_doubling,
  doubling,
  tree,
  hierarchical,
  native,  ///< the world's own
};

/// What travels; sums are always made in f32.
enum class Wire { f32, bf16 };

/// "auto", "ring", "halving-doubling", "doubling", "tree", "hierarchical", "mpi".
const char* to_string(Algorithm algorithm);
Algorithm parse_algorithm(std::string_view name);

/// "f32", "bf16".
const char* to_string(Wire wire);
Wire parse_wire(std::string_view name);

constexpr size_t bytes_of(Wire wire) { return wire == Wire::f32 ? 4 : 2; }

}  // namespace syrtos::collective
