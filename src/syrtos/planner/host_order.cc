#include "syrtos/planner/host_order.h"

#include <algorithm>
#include <cmath>

#include "syrtos/planner/candidates.h"

namespace syrtos::planner {

namespace {

/// What a step would take if all hosts were like this one: computing and the exchange overlap for
/// the most part.
double step_on(const Workload& workload, const HostProfile& host) {
  const auto pass = workload.compute.pass_of(workload.batch, workload.accumulate);
  const double threads = static_cast<double>(workload.compute.threads * host.slots);
  const double crowded =
      host.cores > 0 && !workload.replayed ? std::max(1.0, threads / host.cores) : 1;
  const double computing = pass.seconds * crowded / (workload.replayed ? 1 : host.speed);
  const double bytes = 2 * sizeof(float) * static_cast<double>(workload.compute.elements());
  const double wire = bytes / host.bandwidth + host.latency;
  return std::max(computing, wire) + 0.2 * std::min(computing, wire);
}

}  // namespace

ClusterProfile best_first(const Workload& workload, ClusterProfile cluster) {
  // What differs by less than probes vary is no reason to leave a host out.
  const auto level = [&](const HostProfile& host) {
    const bool small = host.memory > 0 && memory_of(workload, {}) * host.slots > host.memory;
    const double relative = std::log(step_on(workload, host)) / std::max(0.02, cluster.spread);
    return std::pair(small, std::llround(relative));
  };
  std::stable_sort(cluster.hosts.begin(), cluster.hosts.end(),
                   [&](const HostProfile& a, const HostProfile& b) { return level(a) < level(b); });
  return cluster;
}

}  // namespace syrtos::planner
