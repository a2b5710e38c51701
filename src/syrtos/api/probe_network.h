#pragma once

#include <array>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "syrtos/api/surroundings.h"
#include "syrtos/launch/launch.h"
#include "syrtos/planner/probe_network.h"

namespace syrtos::api {

/// Which hosts are measured, as people write it.
struct NetworkProbeRequest {
  static constexpr int kWorkers = 2;

  std::string hosts = {};                                   ///< Names or a file; empty: `local`.
  bool local = false;                                       ///< Between processes of this machine.
  int workers = kWorkers;                                   ///< Of `local`.
  double seconds = planner::NetworkProbeOptions().seconds;  ///< About how long.
};

/// What starts a rank, on this machine and on others.
struct NetworkProbePrograms {
  /// What calls probe_network_as_rank(), with as many seconds; the launcher's words come after it.
  std::vector<std::string> command = {};
  launch::HostProgram program = {};
  std::string remote_shell = "ssh";
  int error_columns = 0;  ///< Of the terminal that a rank's error output ends on; 0: none.
};

struct NetworkProbed {
  planner::NetworkProbe probe = {};  ///< Empty where the end is not good.
  launch::LaunchEnd end = {};
};

/// Measures the hosts of a cluster and what is between them, by a process on each. Blocks. Throws
/// RequestError, and RunError when ranks cannot be started.
NetworkProbed probe_network(const NetworkProbeRequest& request,
                            const NetworkProbePrograms& programs, const Surroundings& surroundings);

/// Shows on rank 0 what is done next, and which part is done: made of the columns of the terminal,
/// if there is one.
using ShowNetworkProbe =
    std::function<std::function<void(const std::string& doing, double part)>(int columns)>;

/// The part of a rank; `join` is the launcher's word, `end_process` as for JoinedRank. Rank 0 tells
/// the launcher on standard output. False: it was to stop, or another rank was lost.
bool probe_network_as_rank(const std::string& join, double seconds,
                           const Surroundings& surroundings,
                           const std::function<void()>& end_process, const ShowNetworkProbe& show);

/// For programs, and how rank 0 tells it: seconds and bytes.
nlohmann::json to_json(const planner::NetworkProbe& probe);

}  // namespace syrtos::api
