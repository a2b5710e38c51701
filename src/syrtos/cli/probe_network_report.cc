#include "syrtos/cli/probe_network_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "syrtos/base/counted.h"
#include "syrtos/base/format.h"
#include "syrtos/planner/units.h"

namespace syrtos::cli {

using planner::format_bandwidth;
using planner::format_short_time;
using planner::HostFindings;
using planner::HostProfile;
using planner::NetworkProbe;

namespace {

constexpr double kShareCores = 1.25;  // computing on all hosts against computing alone

std::string describe_one_host(const NetworkProbe& probe) {
  const HostProfile& host = probe.cluster.hosts.front();
  return fmt::format(
      "{} of this machine, {}, {} of memory\n"
      "  memory_bandwidth {} (what passes between all of them together)\n"
      "  memory_latency   {}\n",
      counted(static_cast<int64_t>(probe.findings.size()), "process", "processes"),
      counted(static_cast<int64_t>(host.cores), "core"), format_bytes(host.memory),
      format_bandwidth(host.memory_bandwidth), format_short_time(host.memory_latency));
}

std::string describe_hosts(const NetworkProbe& probe) {
  size_t width = 4;
  for (const HostProfile& host : probe.cluster.hosts) width = std::max(width, host.name.size());
  std::string text =
      fmt::format("{:{}}  {:>11}  {:>8}  {:>11}  {:>9}  {:>6}  {:>6}  {:>8}  {:>5}  {:>7}\n",
                  "host", width, "bandwidth", "latency", "in a ring", "core s/GB", "speed",
                  "jitter", "slowdown", "cores", "memory");
  for (size_t i = 0; i < probe.cluster.hosts.size(); ++i) {
    const HostProfile& host = probe.cluster.hosts[i];
    const HostFindings& found = probe.findings[i];
    text += fmt::format(
        "{:{}}  {:>11}  {:>8}  {:>11}  {:9.2f}  {:6.2f}  {:5.1f}%  {:>8}  {:5}  {:>7}\n", host.name,
        width, format_bandwidth(host.bandwidth), format_short_time(host.latency),
        format_bandwidth(found.ring), host.core_s_per_gb, host.speed, 100 * host.jitter,
        found.together > kShareCores ? "?" : fmt::format("{:.2f}x", found.slowdown), host.cores,
        format_bytes(host.memory));
  }
  double ring = 0;
  double computing = 0;
  for (const HostFindings& found : probe.findings) {
    ring += found.ring;
    computing += found.ring_computing;
  }
  text += fmt::format("all at once: {} arrive in a ring of all hosts ({} while they compute); {}\n",
                      format_bandwidth(ring), format_bandwidth(computing),
                      probe.cluster.all_at_once > 0
                          ? fmt::format("their links alone would allow {}: they share something",
                                        format_bandwidth(probe.ring_alone))
                          : "as much as their links allow");
  return text;
}

}  // namespace

std::string describe(const NetworkProbe& probe) {
  const bool one_host = probe.cluster.hosts.size() == 1;
  std::string text = one_host ? describe_one_host(probe) : describe_hosts(probe);
  text += fmt::format("measured in {}; bandwidth is uncertain by {:.0f} %\n",
                      format_duration(probe.seconds), 100 * probe.cluster.spread);
  double together = 1;
  for (const HostFindings& found : probe.findings) together = std::max(together, found.together);
  if (!one_host && together > kShareCores) {
    text += fmt::format(
        "note: computing takes {:.1f} times as long when all hosts compute: they share cores, so "
        "the slowdown by moving bytes is not known, and other figures may suffer\n",
        together);
  }
  return text;
}

}  // namespace syrtos::cli
