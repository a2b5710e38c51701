#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "syrtos/run/directory.h"

namespace syrtos::run {

/// A worker that the run went on without.
struct LostWorker {
  int rank = 0;
  std::string host;
  int64_t step = 0;  ///< that worker 0 had taken

  bool operator==(const LostWorker&) const = default;
};

/// What one process trained of a run; there are several when it went on.
struct TrainedPart {
  int64_t first_step = 0, last_step = 0;  ///< last_step is one less: it has taken none yet
  int64_t workers = 1;
  std::string exchange, sync, wire, update;  ///< as the options of these names take them
  double begun = 0, ended = 0;               ///< seconds since 1970
  std::vector<LostWorker> lost;

  bool same_team(const TrainedPart& other) const;
  bool operator==(const TrainedPart&) const = default;
};

/// parts.json: {"parts": [...]}, in order. Throws RunError.
void write(const Directory& directory, const std::vector<TrainedPart>& parts);
/// Empty when it is missing; entries that make no sense are left out, and noted.
std::vector<TrainedPart> read_parts(const Directory& directory, Notes& notes);

}  // namespace syrtos::run
