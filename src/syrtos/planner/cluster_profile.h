#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace syrtos::planner {

/// What a plan needs to know about a host. Seconds and bytes.
struct HostProfile {
  std::string name = {};
  int slots = 1;                  ///< ranks that may run there
  double bandwidth = 117e6;       ///< bytes/s that arrive, in each direction at once
  double latency = 60e-6;         ///< of a small message to another host, one way
  double cores = 0;               ///< 0: as many as computing and moving bytes need
  double core_s_per_gb = 0;       ///< that moving bytes costs at each end
  double speed = 1;               ///< of computing, against the host where it was measured
  double jitter = 0;              ///< relative standard deviation of a step's computing
  double memory = 0;              ///< bytes; 0: not known
  double memory_bandwidth = 5e9;  ///< bytes/s between ranks of this host
  double memory_latency = 5e-6;
};

/// The hosts that a plan may use, measured (`syrtos probe network`) or assumed.
struct ClusterProfile {
  std::vector<HostProfile> hosts;
  /// Bytes/s that all hosts together receive when all send at once; 0: each its full bandwidth.
  double all_at_once = 0;
  /// How unevenly streams share a link (SimOptions::uneven_sharing): 0, equally, to below 3; below
  /// 0: as TCP's do at this bandwidth.
  double uneven_sharing = -1;
  /// Relative uncertainty of bandwidth and latency, as measured: what error bars are made of.
  double spread = 0.05;
};

/// "16 hosts, 10 Gbit/s, 50 us", "4 machines, 10 GbE", "8 nodes 25G", in any order, and if they are
/// known "8 cores", "32 GB", "2 slots".
/// Bandwidth is that of the line; of it, TCP over Ethernet leaves 94.9 % for the payload.
ClusterProfile assumed_cluster(std::string_view text);

/// A profile file (TOML). Throws RequestError with file, key and line.
ClusterProfile read_cluster(const std::filesystem::path& file);
/// Comments say what each value is, since people edit it.
void write_cluster(const std::filesystem::path& file, const ClusterProfile& cluster);

/// Whether a text is no file's name but an assumed cluster in one line.
bool is_in_words(std::string_view text);
/// A file's name, or an assumed cluster in one line.
ClusterProfile cluster_of(std::string_view text);

/// Refuses (RequestError) what cannot be, naming host and value.
void check(const ClusterProfile& cluster, std::string_view where);

}  // namespace syrtos::planner
