#pragma once

#include <optional>
#include <span>

#include "syrtos/run/directory.h"
#include "syrtos/trace/trace_file.h"

namespace syrtos::run {

/// trace.json.gz (trace/trace_file.h says what is in it). Throws RunError.
void write(const Directory& directory, std::span<const trace::RankEvents> ranks);
/// Nothing when it is missing, or damaged, which is noted; what comes before the damage is there.
std::optional<trace::TraceContents> read_trace(const Directory& directory, Notes& notes);

}  // namespace syrtos::run
