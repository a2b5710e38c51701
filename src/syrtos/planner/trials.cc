#include "syrtos/planner/trials.h"

#include <algorithm>
#include <cmath>

namespace syrtos::planner {

namespace {

int slots_of(const HostProfile& host, const Workload& workload) {
  const auto threads = static_cast<double>(std::max<int64_t>(1, workload.compute.threads));
  int slots = std::max(1, host.cores > 0 ? static_cast<int>(host.cores / threads) : host.slots);
  const double needed = workload.compute.pass_of(workload.batch).memory;
  if (host.memory > 0 && needed > 0) {
    slots = std::min(slots, static_cast<int>(std::floor(host.memory / needed)));
  }
  return slots;
}

}  // namespace

Trials trials_of(const Workload& workload, const ClusterProfile& cluster) {
  Trials trials;
  const double first = cluster.hosts.front().speed;
  for (const HostProfile& host : cluster.hosts) {
    const int slots = slots_of(host, workload);
    trials.at_once += slots;
    trials.speed_up += slots * host.speed / first;
  }
  return trials;
}

bool is_better_than(const Trials& trials, const Plan& plan, const ClusterProfile& cluster) {
  if (trials.at_once < 2) return false;
  const auto hosts = static_cast<double>(cluster.hosts.size());
  return plan.best().speed_up < kEfficient * std::min(hosts, trials.speed_up);
}

}  // namespace syrtos::planner
