#pragma once

#include <functional>
#include <string>

#include "syrtos/launch/allocation.h"
#include "syrtos/launch/invitation.h"

// What all that works as a rank which something else has started has in common, for the other files
// of this folder.

namespace syrtos::api {

/// Where rank 0 is. Some services give a host its name only when its process runs, and rank 0 may
/// be started last: waits for it. Throws RequestError, RunError when it is to stop.
std::string address_of_leader(const launch::StartedRank& started,
                              const std::function<bool()>& should_stop);

/// What a launcher would tell this rank, the first `workers` of which are workers.
launch::Invitation invitation_of(const launch::StartedRank& started, const std::string& leader,
                                 int workers, int cores, int patience);

}  // namespace syrtos::api
