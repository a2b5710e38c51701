#include "syrtos/collective/algorithm.h"

#include "syrtos/base/error.h"

namespace syrtos::collective {

namespace {

constexpr Algorithm kAlgorithms[] = {
    Algorithm::automatic, Algorithm::ring,         Algorithm::halving_doubling, Algorithm::doubling,
    Algorithm::tree,      Algorithm::hierarchical, Algorithm::native,
};

}  // namespace

const char* to_string(Algorithm algorithm) {
  switch (algorithm) {
    case Algorithm::automatic:
      return "auto";
    case Algorithm::ring:
      return "ring";
    case Algorithm::halving_doubling:
      return "halving-doubling";
    case Algorithm::doubling:
      return "doubling";
    case Algorithm::tree:
      return "tree";
    case Algorithm::hierarchical:
      return "hierarchical";
    case Algorithm::native:
      return "mpi";
  }
  return "unknown";
}

Algorithm parse_algorithm(std::string_view name) {
  for (const Algorithm algorithm : kAlgorithms) {
    if (name == to_string(algorithm)) return algorithm;
  }
  fail_request(
      "unknown all-reduce '{}': expected auto, ring, halving-doubling, doubling, tree, "
      "hierarchical or mpi",
      name);
}

}  // namespace syrtos::collective
