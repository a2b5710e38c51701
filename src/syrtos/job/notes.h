#pragma once

#include <string>
#include <vector>

#include "syrtos/base/cpu.h"
#include "syrtos/job/job.h"

namespace syrtos::job {

/// What whoever asked for this job should know before it starts: settings that have no effect, ends
/// that are never reached, classes that are never tested. A sentence each, for people.
std::vector<std::string> notes_of(const JobRequest& request, const Job& job, const CpuInfo& cpu);

}  // namespace syrtos::job
