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

/// "auto", "ring", "halving-doubling", "doubling", "tree", "hierarchical", "mpi".
const char* to_string(Algorithm algorithm);
Algorithm parse_algorithm(std::string_view name);

}  // namespace syrtos::collective
