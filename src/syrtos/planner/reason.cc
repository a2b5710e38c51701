#include "syrtos/planner/reason.h"

#include <fmt/format.h>

#include <algorithm>

#include "syrtos/base/format.h"
#include "syrtos/planner/units.h"

namespace syrtos::planner {

namespace {

/// Everything is by this share better (above 0) or worse than it was measured.
struct Shifted {
  Workload workload;
  ClusterProfile cluster;
};

Shifted shifted(const Workload& workload, const ClusterProfile& cluster, double better) {
  Shifted result{workload, cluster};
  const double spread = 1 + better * cluster.spread;
  for (HostProfile& host : result.cluster.hosts) {
    host.bandwidth *= spread;
    host.latency /= spread;
    host.speed *= 1 + better * std::max({0.01, host.jitter, workload.compute.jitter});
  }
  result.cluster.all_at_once *= spread;
  return result;
}

double without(const Workload& workload, ClusterProfile cluster, const Candidate& candidate,
               void (*change)(HostProfile&)) {
  for (HostProfile& host : cluster.hosts) change(host);
  cluster.all_at_once = 0;
  return simulate(workload, cluster, candidate).seconds;
}

}  // namespace

ErrorBar error_bar(const Workload& workload, const ClusterProfile& cluster,
                   const Candidate& candidate) {
  const Shifted better = shifted(workload, cluster, 1);
  const Shifted worse = shifted(workload, cluster, -1);
  return {simulate(better.workload, better.cluster, candidate).seconds,
          simulate(worse.workload, worse.cluster, candidate).seconds};
}

ErrorBar plain_error_bar(const Workload& workload, const ClusterProfile& cluster,
                         const StepCost& step) {
  const double computing = std::min(step.computing, step.seconds);
  const double off = computing * std::max(0.01, workload.compute.jitter) +
                     (step.seconds - computing) * cluster.spread;
  return {step.seconds - off, step.seconds + off};
}

int hosts_of(const ClusterProfile& cluster, const Candidate& candidate) {
  int hosts = 0;
  int left = candidate.team().ranks();
  for (const HostProfile& host : cluster.hosts) {
    if (left <= 0) break;
    left -= host.slots;
    ++hosts;
  }
  return hosts;
}

std::string reason_of(const Workload& workload, const ClusterProfile& cluster,
                      const Candidate& candidate, const StepCost& step, bool thoroughly) {
  const std::string computing = format_short_time(step.computing);
  if (candidate.workers == 1) return "computing alone: " + computing + " a step";
  const double all = step.seconds;
  if (all <= 1.05 * step.computing) {
    return fmt::format("compute-bound: {} of computing hide the exchange of {}", computing,
                       format_bytes(step.wire_bytes));
  }
  const collective::LinkSpeed link = link_of(cluster, candidate.team().ranks());
  double wire_free = all - step.wire_seconds;
  double latency_free = all;
  double even = all;
  if (thoroughly) {
    wire_free =
        without(workload, cluster, candidate, [](HostProfile& host) { host.bandwidth *= 1e4; });
    latency_free =
        without(workload, cluster, candidate, [](HostProfile& host) { host.latency *= 1e-4; });
    Workload steady = workload;
    steady.compute.jitter = 0;
    even = without(steady, cluster, candidate, [](HostProfile& host) {
      host.jitter = 0;
      host.speed = std::max(host.speed, 1.0);
    });
  }
  const double least = std::min({wire_free, latency_free, even});
  if (least == wire_free) {
    return fmt::format("wire-bound: {} per step over {} take {}, computing {}",
                       format_bytes(step.wire_bytes), format_bandwidth(link.bytes_per_s),
                       format_short_time(step.wire_seconds), computing);
  }
  if (least == latency_free) {
    return fmt::format(
        "latency-bound: {:.0f} messages a worker in each step at {} each, computing {}",
        step.messages / candidate.workers, format_short_time(link.latency_s), computing);
  }
  return fmt::format("waits for the slowest: {} of {} a step", format_short_time(all - even),
                     format_short_time(all));
}

}  // namespace syrtos::planner
