#pragma once

#include <span>
#include <vector>

#include "syrtos/run/directory.h"
#include "syrtos/trace/division_log.h"

namespace syrtos::run {

/// steps.csv, a table of all ranks (trace/division_log.h says what is in its columns). Starts are
/// on worker 0's clock, in a run that goes on on that of its first process. Throws RunError.
void write(const Directory& directory, std::span<const trace::RankDivision> steps);
/// As much as can be read, each rank once; empty when it is missing. Notes tell of what cannot be
/// read.
std::vector<trace::RankDivision> read_steps(const Directory& directory, Notes& notes);

}  // namespace syrtos::run
