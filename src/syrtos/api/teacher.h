#pragma once

#include "syrtos/api/surroundings.h"
#include "syrtos/job/job.h"

namespace syrtos::api {

/// Loads whom the job's network is to imitate, if anybody, and asks about all samples of its
/// training data, or leaves that to the steps. Answers are kept below the cache home, so that other
/// trials, processes and runs that go on need not ask again. To be called with the precision and
/// the threads that will train. Throws RequestError, or RunError when it is stopped.
void load_teacher(const Surroundings& surroundings, job::Job& job);

}  // namespace syrtos::api
