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

/// Where the time from a command to its end went, as worker 0 saw it. Seconds, one after the other.
struct PartTime {
  double start = 0;     ///< until the data is opened: starting processes, reaching hosts
  double data = 0;      ///< opening and preparing it, by the launcher too
  double set_up = 0;    ///< compiling the network, looking at the machine
  double meeting = 0;   ///< until all ranks have met and have the first weights
  double training = 0;  ///< from the first step to the last, with evaluating and saving
  double end = 0;       ///< gathering what was measured, writing it down, ending

  double sum() const { return start + data + set_up + meeting + training + end; }
  bool operator==(const PartTime&) const = default;
};

/// What one team trained of a run; there are several when it went on.
struct TrainedPart {
  int64_t first_step = 0, last_step = 0;  ///< last_step is one less: it has taken none yet
  int64_t team =
      1;  ///< of its command: others followed the first one when workers were lost or came
  int64_t workers = 1;
  std::string exchange, sync, wire, update, split;  ///< as the options of these names take them
  int64_t network_parts = 1;                        ///< that --split has made of the network
  double begun = 0, ended = 0;                      ///< seconds since 1970
  PartTime time = {};                               ///< all 0: not known
  std::vector<LostWorker> lost;

  bool same_team(const TrainedPart& other) const;
  bool operator==(const TrainedPart&) const = default;
};

/// parts.json: {"parts": [...]}, in order. Throws RunError.
void write(const Directory& directory, const std::vector<TrainedPart>& parts);
/// The command that trained the last parts took so many seconds in all: what its account has less
/// belongs to its end. Where there is no account, nothing happens.
void close_account(const Directory& directory, double seconds);
/// Empty when it is missing; entries that make no sense are left out, and noted.
std::vector<TrainedPart> read_parts(const Directory& directory, Notes& notes);

}  // namespace syrtos::run
