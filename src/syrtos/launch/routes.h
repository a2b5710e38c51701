#pragma once

#include <string>
#include <vector>

#include "syrtos/launch/hosts.h"

namespace syrtos::launch {

/// Where the ranks of each host find the scheduler and each other. A loopback address is no use to
/// other hosts.
struct Routes {
  std::vector<std::string> scheduler;
  std::vector<std::string> ranks;
};

/// What the other hosts call each host: its address, or, where that is a loopback one, this
/// machine's towards the others.
std::vector<std::string> addresses_for_others(const std::vector<Host>& hosts);

/// Throws RequestError when there is no way to a host.
Routes find_routes(const std::vector<Host>& hosts);

}  // namespace syrtos::launch
