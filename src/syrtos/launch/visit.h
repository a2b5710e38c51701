#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "syrtos/launch/remote.h"

// Looking at hosts before they are used: the launcher visits each over ssh, asks for facts and for
// the time, and lets each try to reach every other, and the launcher.

namespace syrtos::launch {

/// What was found out about one host.
struct Visit {
  std::string problem;       ///< why it could not be visited; empty: it was
  std::string facts;         ///< the JSON object that be_visited() got there
  double clock_ahead_s = 0;  ///< of this machine's clock
  double clock_error_s = 0;  ///< by which that may be wrong
  /// For each host that was visited, and last of all for the launcher: what stands against reaching
  /// it from there; empty: nothing.
  std::vector<std::pair<std::string, std::string>> reaches;
};

/// Visits all hosts at the same time. `command`: what runs there and calls be_visited(); the host's
/// address is added. Blocks, for at most some 18 s. Throws RunError when it is interrupted.
std::vector<Visit> visit_hosts(const std::vector<Host>& hosts, const RemoteShell& shell,
                               const std::vector<std::string>& command,
                               const std::function<bool()>& should_stop);

/// The other end: speaks with the launcher over standard input and output until that ends.
void be_visited(const std::string& address, const nlohmann::json& facts);

}  // namespace syrtos::launch
