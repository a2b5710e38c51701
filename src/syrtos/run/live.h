#pragma once

#include <string>
#include <vector>

#include "syrtos/run/directory.h"
#include "syrtos/trace/division_log.h"

namespace syrtos::run {

/// Where the time of one rank went so far, for about a second each.
struct LiveRank {
  int rank = 0;
  std::string host;
  std::vector<trace::DivisionRecord> records;  ///< when they began is not told

  bool operator==(const LiveRank&) const = default;
};

/// live.json: {"ranks": [{"rank", "host", "records": [[step, steps, seconds of each part ...,
/// hidden network] ...]}]}. Ranks without records are left out. For whoever watches: as
/// replace_text() in text_file.h.
void replace(const Directory& directory, const std::vector<LiveRank>& ranks);
/// Empty when it is missing; what makes no sense is left out.
std::vector<LiveRank> read_live(const Directory& directory, Notes& notes);
/// steps.csv has all of it.
void forget_live(const Directory& directory);

}  // namespace syrtos::run
