#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "syrtos/world/tag.h"

namespace syrtos::world {

/// A host of a simulated cluster. Seconds and bytes.
struct SimHost {
  std::string name = {};
  double bandwidth = 125e6;  ///< bytes/s of its link, in each direction at once
  /// One way to another host of the same latency; between different ones it is the mean of both.
  double latency = 50e-6;
  static constexpr double kEnoughCores = 1e9;
  double cores = kEnoughCores;  ///< shared by computing and by moving bytes (see processor.h)
  /// Cores that the pool work of one rank keeps busy; 0: the ranks of a host share its cores, or
  /// use one each if there are always enough.
  double compute_cores = 0;
  double core_seconds_per_byte = 0;  ///< that moving a byte costs, at each end
  double speed = 1;                  ///< computing takes seconds / speed
  double jitter = 0;                 ///< relative standard deviation of each computing time
  double memory_bandwidth = 10e9;    ///< shared by the exchanges between ranks of this host
  double memory_latency = 0;
};

/// Hosts behind a switch whose link upwards is shared by what goes in and out of the group. Hosts
/// that are behind none are at the top, where all switches meet.
struct SimSwitch {
  std::vector<int> hosts;
  double bandwidth = 1.25e9;  ///< bytes/s, in each direction at once
  double latency = 0;         ///< one way
};

/// What goes wrong. Everything random follows from the seed.
struct SimFaults {
  double message_delay_max = 0;   ///< each message comes later by up to this many seconds
  double loss = 0;                ///< of each packet of 1460 bytes
  double retransmit_after = 0.2;  ///< seconds by which a message comes later that lost any
  double slow_probability = 0;    ///< of each piece of computing
  double slow_factor = 10;        ///< by which it then takes longer

  struct Crash {
    Rank rank = 0;
    double at = 0;
  };
  /// The rank's program is gone at that moment; its peers see a closed connection.
  std::vector<Crash> crashes = {};

  struct Partition {
    std::vector<int> hosts;  ///< cut off from all others
    double from = 0;
    double until = 0;
  };
  /// What is on its way stops. A cut that lasts no longer than `lost_after` only delays; after
  /// that, ranks on its two sides are lost to each other for good.
  std::vector<Partition> partitions = {};
  double lost_after = 4;
};

struct SimOptions {
  std::vector<SimHost> hosts = {};
  std::vector<int> host_of_rank = {};  ///< empty: one rank on each host
  std::vector<SimSwitch> switches = {};
  /// Bytes/s that can cross between all hosts together; 0: as much as their links let through.
  double backplane = 0;
  /// How unevenly flows share a link: the standard deviation of the logarithm of their shares, each
  /// of which lasts for some tenths of a second, as those of TCP's streams do. 0: equally.
  double uneven_sharing = 0;
  SimFaults faults = {};
  uint64_t seed = 1;
  /// False: sizes only, and work is not run (World::carries_data). Messages of up to
  /// kAlwaysCarried bytes carry their data all the same: ranks decide by them.
  bool carry_data = true;
  static constexpr size_t kAlwaysCarried = 256;
  double message_overhead_bytes = 0;  ///< that every message adds on its way

  // No program hangs: past any of these the run ends with an error on every rank.
  double time_max = 1e9;                     ///< virtual seconds
  uint64_t events_max = 2'000'000'000;       ///< of one run
  uint64_t events_at_once_max = 20'000'000;  ///< while no virtual time passes
};

/// "16 hosts, 10 Gbit/s, 50 us", one rank on each.
SimOptions uniform_cluster(int hosts, double bytes_per_s, double latency_s);

/// Checks the options and fills in what was left out.
SimOptions completed(SimOptions options);

}  // namespace syrtos::world
