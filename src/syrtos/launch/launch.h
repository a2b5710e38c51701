#pragma once

#include <array>
#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "syrtos/launch/invitation.h"
#include "syrtos/launch/output.h"
#include "syrtos/launch/placement.h"
#include "syrtos/launch/remote.h"

namespace syrtos::launch {

struct LaunchOptions {
  std::vector<Placement> placements;  ///< by rank
  std::vector<Host> hosts;
  /// The ranks' program and its arguments; `--join WORD` is added (see Invitation).
  std::vector<std::string> command;
  /// What the ranks are to do, in one line that each gets after its token (see read_task).
  std::string task = "none";
  std::optional<RemoteShell> remote;  ///< none: all ranks are processes of this machine
  uint16_t port = 0;                  ///< of the scheduler; 0: any
  /// Of ranks on other hosts; those of this machine may take three times as long, it may be busy.
  std::chrono::milliseconds join_timeout = std::chrono::seconds(20);
  /// For ranks to end in good order once they are asked to.
  std::chrono::milliseconds stop_timeout = std::chrono::seconds(60);
  /// Seconds that the network may be cut, or a process be stopped: ranks wait so long for each
  /// other and for the launcher.
  int patience = kDefaultPatience;
  /// What ranks of different hosts send each other.
  bool encrypted = true;
  /// A worker other than rank 0 may be lost once all have joined; the others go on.
  bool tolerate_lost_workers = false;
  /// Ranks that are left go on as another team when one is lost, if so many workers are left at
  /// least; 0: the loss of one ends all.
  int min_workers = 0;
  /// Ranks that were lost are started again on their hosts, and join.
  bool replace_lost = false;

  /// Where the ranks' output goes. What rank 0 prints is passed on as it is, what the others print
  /// line by line, "[rank 2 on c] ...".
  /// None: to this process's own streams. Whoever reads them may take any time: of what is more
  /// than some thousand lines behind, the rest is left out.
  Printer::Write write = {};
  std::array<int, 2> columns = {0, 0};  ///< of the terminals that output and error end on; 0: none
  /// Asked some ten times a second: true from the first Ctrl-C or SIGTERM on.
  std::function<bool()> should_stop;
};

/// How a run ended.
struct LaunchEnd {
  int code = 0;              ///< exit code: rank 0's, or that of a failure
  std::string failure;       ///< which rank, where, what happened, what it did last; empty: none
  std::vector<Rank> lost;    ///< workers that the run went on without
  int teams = 1;             ///< that there were, one after the other
  bool interrupted = false;  ///< should_stop() said so
};

/// Starts all ranks, tells them who is where, passes on what they print, and waits until all have
/// ended. When one fails, the others are told, and ended within some 4 s. When this process is
/// killed, all ranks end by themselves. Blocks. Throws RequestError before anything was started.
LaunchEnd launch(const LaunchOptions& options);

/// Columns of the terminals that this process's output and error output are; 0: none.
std::array<int, 2> terminal_columns();

}  // namespace syrtos::launch
