#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "syrtos/report/run.h"

// One function per file of a run directory. None throws for what is in a file: each takes what can
// be used and notes the rest.

namespace syrtos::report {

/// Whether the file is there; if not, nothing is noted.
bool has_file(const Run& run, const char* name);

void read_job(Run& run);
void read_parts(Run& run);
void read_metrics(Run& run);
void read_curve(Run& run);
void read_steps(Run& run);
/// Of a run that goes on or was killed: what is newer than steps.csv.
void read_live(Run& run);
void read_hosts(Run& run);
void read_operators(Run& run);
void read_exchange(Run& run);
void read_progress(Run& run);
void read_trace_file(Run& run);

/// The rank of that number, which is added if it is new.
RunRank& rank_of(Run& run, int number);

}  // namespace syrtos::report
