#pragma once

#include <string>
#include <vector>

#include "syrtos/launch/hosts.h"
#include "syrtos/world/tag.h"

namespace syrtos::launch {

using world::Rank;

enum class Role { worker, server };
const char* to_string(Role role);

/// Where a rank runs.
struct Placement {
  Rank rank = 0;
  Role role = Role::worker;
  int host = 0;   ///< index into the hosts
  int cores = 1;  ///< it may use
};

/// This machine alone, with as many slots as are asked for.
Host this_machine(int cores, int slots);

/// Which ranks go where: the workers, then the servers, fill one host after the other. The cores of
/// a host are divided evenly between its workers, at least one each; a server counts on one. Throws
/// RequestError when there are too few slots.
std::vector<Placement> place(int workers, int servers, const std::vector<Host>& hosts);

}  // namespace syrtos::launch
