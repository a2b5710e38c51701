#include "syrtos/planner/reason.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "syrtos/base/format.h"
#include "syrtos/planner/part_work.h"
#include "syrtos/planner/units.h"

namespace syrtos::planner {

namespace {

/// Everything is by this share better (above 0) or worse than it was measured.
struct Shifted {
  Workload workload;
  ClusterProfile cluster;
};

/// By how much the simulation itself is off, beside what was measured: of exchanges (one that many
/// streams meet in is harder to foresee), and of computing, which a run disturbs in ways that a
/// probe does not.
constexpr double kExchangeError = 0.12;
constexpr double kServerError = 0.18;
constexpr double kComputingError = 0.04;

double exchange_error(const ClusterProfile& cluster, const Candidate& candidate) {
  const bool servers = candidate.options.exchange.uses_servers();
  return std::min(0.9, std::hypot(cluster.spread, servers ? kServerError : kExchangeError));
}

/// A probe is a median of many steps: of what they vary by, a third is left.
double computing_error(const Workload& workload, const HostProfile& host) {
  const double jitter = workload.replayed ? 0 : std::max(host.jitter, workload.compute.jitter);
  return std::min(0.3, std::hypot(kComputingError, jitter / 3));
}

Shifted shifted(const Workload& workload, const ClusterProfile& cluster, const Candidate& candidate,
                double better) {
  Shifted result{workload, cluster};
  result.workload.replayed = false;  // speeds count
  result.workload.compute.jitter = workload.replayed ? 0 : workload.compute.jitter;
  const double spread = 1 + better * exchange_error(cluster, candidate);
  for (HostProfile& host : result.cluster.hosts) {
    host.bandwidth *= spread;
    host.latency /= spread;
    const double speed = workload.replayed ? 1 : host.speed;
    host.speed = speed * (1 + better * computing_error(workload, host));
    if (workload.replayed) host.cores = host.jitter = 0;
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

/// Of a network in parts: how evenly they compute, and what is waited for.
std::string reason_of_parts(const Workload& workload, const ClusterProfile& cluster,
                            const Candidate& candidate, const StepCost& step, bool thoroughly) {
  const std::vector<double> busy = busy_seconds(workload, candidate);
  const auto [least, most] = std::minmax_element(busy.begin(), busy.end());
  double wire_free = std::max(step.computing, step.seconds - step.wire_seconds);
  if (thoroughly) {
    wire_free = without(workload, cluster, candidate, [](HostProfile& host) {
      host.bandwidth *= 1e4;
      host.latency *= 1e-4;
    });
  }
  const double waits = std::max(0.0, std::min(wire_free, step.seconds) - step.computing);
  const double wire = std::max(0.0, step.seconds - std::max(wire_free, step.computing));
  std::string text =
      fmt::format("parts compute {} to {}", format_short_time(*least), format_short_time(*most));
  if (waits > 0.01 * step.seconds) {
    text += fmt::format(", wait {} for each other", format_short_time(waits));
  }
  if (wire > 0.01 * step.seconds) {
    text += fmt::format(", {} for the wire ({} per step)", format_short_time(wire),
                        format_bytes(step.wire_bytes));
  }
  return text;
}

}  // namespace

ErrorBar error_bar(const Workload& workload, const ClusterProfile& cluster,
                   const Candidate& candidate) {
  const Shifted better = shifted(workload, cluster, candidate, 1);
  const Shifted worse = shifted(workload, cluster, candidate, -1);
  return {simulate(better.workload, better.cluster, candidate).seconds,
          simulate(worse.workload, worse.cluster, candidate).seconds};
}

ErrorBar plain_error_bar(const Workload& workload, const ClusterProfile& cluster,
                         const Candidate& candidate, const StepCost& step) {
  const double computing = std::min(step.computing, step.seconds);
  const double off = computing * computing_error(workload, cluster.hosts[0]) +
                     (step.seconds - computing) * exchange_error(cluster, candidate);
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
  if (candidate.options.split.cuts()) {
    return reason_of_parts(workload, cluster, candidate, step, thoroughly);
  }
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
  if (least > 0.97 * all) {
    return fmt::format("bound by no single thing: {} beside {} of computing",
                       format_short_time(all - step.computing), computing);
  }
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
