#pragma once

#include <filesystem>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "syrtos/compare/equality.h"
#include "syrtos/compare/timing.h"
#include "syrtos/compare/walk.h"

namespace syrtos::compare {

/// What to compare, as people say it.
struct ComparisonRequest {
  std::vector<std::string> networks;  ///< names, ONNX files, or "all"
  std::vector<std::string> peers;     ///< as find_peer takes them
  std::string input = "auto";         ///< auto: 32x32 where the network takes it, else its own
  int64_t classes = 10;
  std::vector<int64_t> phases = {0};  ///< 0 equality, 1 together, 2 alone, 3 operators
  int64_t batch = 8;                  ///< of phase 0
  int threads = 0;                    ///< 0: all cores
  std::vector<int64_t> steps = {1, 10, 100};
  double patience_s = 300;
  TimingRequest timing;         ///< of phases 1 to 3
  std::filesystem::path hosts;  ///< a file; empty: processes of this machine
  std::filesystem::path directory = "runs/compare";
  std::filesystem::path home;  ///< environments and adapters
  std::function<bool()> should_stop = [] { return false; };
  std::function<void(const std::string&)> say = [](const std::string&) {};
};

struct Comparison {
  std::vector<Equality> equality;
  std::vector<NetworkTimes> times;
  /// Networks are equal and every cell was measured.
  bool holds() const;
};

/// Blocks until everything is compared. A peer that fails is marked in the result and the others go
/// on. Throws RequestError before anything is started, RunError when interrupted.
Comparison compare(const ComparisonRequest& request);

nlohmann::json to_json(const Comparison& comparison);
std::string comparison_text(const Comparison& comparison);

}  // namespace syrtos::compare
