#pragma once

#include <map>
#include <string>
#include <vector>

#include "syrtos/run/directory.h"
#include "syrtos/trace/host_reading.h"

namespace syrtos::run {

/// hosts.json: host -> its curves. Times are on worker 0's clock, as starts in steps.csv.
using HostCurves = std::map<std::string, std::vector<trace::HostSample>>;

/// Throws RunError.
void write(const Directory& directory, const HostCurves& hosts);
/// For whoever watches: as replace_text() in text_file.h.
void replace(const Directory& directory, const HostCurves& hosts);
/// Empty when it is missing; samples that make no sense are left out, and noted.
HostCurves read_hosts(const Directory& directory, Notes& notes);

}  // namespace syrtos::run
