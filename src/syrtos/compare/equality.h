#pragma once

#include <filesystem>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "syrtos/compare/ours.h"
#include "syrtos/compare/peer.h"

namespace syrtos::compare {

/// One thing that must be equal, in one precision.
struct EqualityRow {
  std::string what;  ///< "shapes", "values", "loss", "gradients", "weights after 10 steps"
  Precision precision = Precision::f32;
  double largest = 0;  ///< relative difference
  std::string where;   ///< the tensor that differs most
  double tolerance = 0;
  bool holds = true;
  std::string verdict;  ///< for people; says what is wrong where it does not hold
};

/// Whether a peer's network is ours.
struct Equality {
  std::string network;
  std::string peer;
  std::string version;
  std::vector<EqualityRow> rows;
  std::string cause;   ///< which layer differs first, and how; empty when nothing does
  std::string failed;  ///< why it could not be told to the end; empty: it was

  bool holds() const;
};

struct EqualityOptions {
  int threads = 1;
  Rule rule;
  uint64_t seed = 1;
  std::vector<int64_t> steps = {1, 10, 100};
  /// The naive references take no step in double precision that would take them beyond this.
  double reference_seconds = 60;
  std::filesystem::path scratch;  ///< for arrays that travel
  std::function<bool()> should_stop = [] { return false; };
  std::function<void(const std::string&)> say = [](const std::string&) {};
};

/// Ours of one network and one batch, computed once for all peers. Blocks for as long as that
/// takes.
class EqualityTest {
 public:
  EqualityTest(const nn::Network& network, const nn::ModelOptions& options, EqualityOptions how);
  ~EqualityTest();

  /// Compares; what the peer did wrong is in the result. Throws when we are interrupted.
  Equality compare(Peer& peer);

  const nlohmann::json& description() const { return *description_; }

 private:
  struct Expected;
  struct Talk;
  const Expected& expected(Precision precision);
  void compare_in(Precision precision, Talk& talk);
  void explain(Talk& talk);

  nn::Network network_;
  nn::ModelOptions options_;
  EqualityOptions how_;
  nn::Model model_;
  std::unique_ptr<nlohmann::json> description_;
  Batch batch_;
  Arrays start_;
  std::map<Precision, std::unique_ptr<Expected>> expected_;
};

nlohmann::json to_json(const Equality& equality);
/// A table for each, and which layer differs.
std::string equality_text(const std::vector<Equality>& all);

}  // namespace syrtos::compare
