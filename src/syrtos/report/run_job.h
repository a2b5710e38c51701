#pragma once

#include "syrtos/report/run.h"
#include "syrtos/run/directory.h"

namespace syrtos::report {

/// What was asked for, as the run's job file and its last part say it; what they do not say is
/// noted.
void read_job(Run& run, const run::Directory& directory);

}  // namespace syrtos::report
