#pragma once

#include <array>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "syrtos/api/train.h"
#include "syrtos/launch/allocation.h"
#include "syrtos/launch/launch.h"

namespace syrtos::api {

/// How the ranks of a training become processes.
struct RankPrograms {
  /// A program and its arguments that calls train_as_rank() (api/rank.h). `--run DIR`, for whoever
  /// reads process lists, and `--join WORD` are added.
  std::vector<std::string> command;
  /// How hosts get the program, and what each is asked to see that it is the same.
  launch::HostProgram program = {};
  /// Names of hosts or a file of them (launch/hosts.h); empty: processes of this machine.
  std::filesystem::path hosts = {};
  /// Hosts of a scheduler's job, in place of those.
  std::optional<launch::Allocation> allocation = {};
  std::string remote_shell = "ssh";
  /// Workers that were lost are started again, and join.
  bool replace_lost = true;
  /// The command gives train_as_rank() the same network and data as the request has.
  bool bring_own = false;
  std::array<int, 2> columns = {0, 0};  ///< Of the terminals that output and error end on.
  launch::Printer::Write write = {};    ///< Where the ranks' output goes: see LaunchOptions.
};

struct Launched {
  std::filesystem::path run;
  launch::LaunchEnd end;
};

/// As many workers as the hosts have slots, unless the job says how many; then the job as it is.
job::JobRequest fill_hosts(job::JobRequest job, const std::vector<launch::Host>& hosts);

/// Starts a process for each worker and server, gives it the request, and blocks until all have
/// ended. What the caller brings along (request.own) does not travel: it is refused
/// unless the ranks bring it along too. Throws
/// RequestError before anything was started.
Launched launch_training(const TrainRequest& request, const RankPrograms& programs,
                         const Surroundings& surroundings, const OnRun& on_run = {});

}  // namespace syrtos::api
