#pragma once

#include <functional>
#include <string>
#include <vector>

#include "syrtos/planner/cluster_profile.h"
#include "syrtos/world/task.h"
#include "syrtos/world/world.h"

namespace syrtos::planner {

/// Core seconds, user and system, that this process used so far. What the kernel does for the
/// network outside of any process is not in it.
double process_core_seconds();

struct NetworkProbeOptions {
  /// About how long all of it may take. The same on all ranks. More than some 20 hosts, or slow
  /// links, take longer: every host is measured for a while.
  double seconds = 8;
  double cores = 1;   ///< of this rank's host
  double memory = 0;  ///< bytes that a job may use there
  std::function<double()> core_seconds = process_core_seconds;
  /// Called before each step of the measuring with what comes and the part that is done, 0 to 1.
  std::function<void(const std::string& doing, double part)> progress = nullptr;
  /// Asked some ten times a second; true ends it by RunError.
  std::function<bool()> should_stop = nullptr;
};

/// What was seen of a host beyond its profile.
struct HostFindings {
  double latency_spread = 0;
  double bandwidth_spread = 0;
  double ring = 0;            ///< bytes/s that arrive while every host sends to the next
  double ring_computing = 0;  ///< the same while all compute
  double slowdown = 1;        ///< of computing by the bytes that move meanwhile
  double together = 1;        ///< of computing when all hosts compute: above 1 they share cores
  double piece_s = 0;         ///< the fixed piece of computing, alone
};

struct NetworkProbe {
  ClusterProfile cluster;
  std::vector<HostFindings> findings;  ///< of each rank
  double ring_alone = 0;  ///< bytes/s of all hosts in the ring if none disturbed another
  double seconds = 0;     ///< it took
};

/// Measures the hosts that ranks run on, one rank on each: latency and bandwidth of pairs, one
/// after the other; all hosts at once in a ring; computing alone, on all hosts, and while bytes
/// move. With all ranks on one host it measures what passes between its processes: then the profile
/// has one host. All ranks call it and get the same result; at least two.
world::Task<NetworkProbe> probe_network(world::World& world, NetworkProbeOptions options);

}  // namespace syrtos::planner
