#pragma once

#include "syrtos/api/surroundings.h"
#include "syrtos/job/job.h"
#include "syrtos/job/request.h"

namespace syrtos::api {

/// Fills in what a request leaves to the machine: the precision, and for one worker the number of
/// threads, that compute its network fastest here. Measured once and kept, unless the run is too
/// short to be worth it: then what is known already decides, or what the CPU is said to be good at.
void settle(const job::JobRequest& request, const Surroundings& surroundings, job::Job& job);

}  // namespace syrtos::api
