#pragma once

#include <filesystem>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "syrtos/compare/ours.h"
#include "syrtos/launch/hosts.h"

namespace syrtos::compare {

/// A training of our own program, as a process like those of others.
struct OurRun {
  std::filesystem::path program;
  std::filesystem::path run;  ///< its directory; taken away afterwards
  std::string network;
  Shape image;
  int64_t classes = 10;
  int64_t batch = 42;
  int threads = 1;
  int workers = 1;
  bool asynchronous = false;
  int64_t steps = 20;
  Rule rule;
  std::vector<launch::Host> hosts;
  std::string remote_shell;
  double patience_s = 300;
  std::function<bool()> should_stop;
};

/// {"step_s", "cpu_s", "memory", "wire"}: as phase 1 has them. All throw PeerFailed that says what
/// the program said.
nlohmann::json our_cluster_times(const OurRun& run);
/// {"load", "forward", "backward", "update", "memory"}: seconds per step.
nlohmann::json our_parts(const OurRun& run);
/// {"operators": [{"name", "kind", "seconds"}]}
nlohmann::json our_operators(const OurRun& run);

/// The common word for an operation of ours, such as "conv.backward_weights".
std::string kind_of(const std::string& operation);

}  // namespace syrtos::compare
