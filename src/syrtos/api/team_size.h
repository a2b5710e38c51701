#pragma once

#include <string>

#include "syrtos/job/request.h"

namespace syrtos::api {

/// Of the ranks that something else (`by`: "mpirun") has started, those that are no servers. Throws
/// RequestError when that does not fit the job.
int workers_of(const job::JobRequest& job, const std::string& by, int ranks, bool asked_for);

}  // namespace syrtos::api
