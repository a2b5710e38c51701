#include "syrtos/cli/probe_network_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "syrtos/base/format.h"
#include "syrtos/planner/units.h"

namespace syrtos::cli {

using nlohmann::json;
using planner::format_bandwidth;
using planner::format_short_time;
using planner::HostFindings;
using planner::HostProfile;
using planner::NetworkProbe;

namespace {

constexpr double kShareCores = 1.25;  // computing on all hosts against computing alone

struct ProfileField {
  const char* name;
  double HostProfile::*member;
};
constexpr ProfileField kProfileFields[] = {
    {"bandwidth", &HostProfile::bandwidth},
    {"latency", &HostProfile::latency},
    {"cores", &HostProfile::cores},
    {"core_seconds_per_gb", &HostProfile::core_s_per_gb},
    {"speed", &HostProfile::speed},
    {"jitter", &HostProfile::jitter},
    {"memory", &HostProfile::memory},
    {"memory_bandwidth", &HostProfile::memory_bandwidth},
    {"memory_latency", &HostProfile::memory_latency},
};

struct FindingField {
  const char* name;
  double HostFindings::*member;
};
constexpr FindingField kFindingFields[] = {
    {"latency_spread", &HostFindings::latency_spread},
    {"bandwidth_spread", &HostFindings::bandwidth_spread},
    {"ring", &HostFindings::ring},
    {"ring_computing", &HostFindings::ring_computing},
    {"slowdown", &HostFindings::slowdown},
    {"together", &HostFindings::together},
    {"piece_s", &HostFindings::piece_s},
};

std::string describe_one_host(const NetworkProbe& probe) {
  const HostProfile& host = probe.cluster.hosts.front();
  return fmt::format(
      "{} processes of this machine, {} cores, {} of memory\n"
      "  memory_bandwidth {} (what passes between all of them together)\n"
      "  memory_latency   {}\n",
      probe.findings.size(), host.cores, format_bytes(host.memory),
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

json to_json(const NetworkProbe& probe) {
  json result = {{"hosts", json::array()},
                 {"ranks", json::array()},
                 {"all_at_once", probe.cluster.all_at_once},
                 {"spread", probe.cluster.spread},
                 {"ring_alone", probe.ring_alone},
                 {"seconds", probe.seconds}};
  for (const HostProfile& host : probe.cluster.hosts) {
    json one = {{"name", host.name}, {"slots", host.slots}};
    for (const ProfileField& field : kProfileFields) one[field.name] = host.*field.member;
    result["hosts"].push_back(std::move(one));
  }
  for (const HostFindings& found : probe.findings) {
    json one = json::object();
    for (const FindingField& field : kFindingFields) one[field.name] = found.*field.member;
    result["ranks"].push_back(std::move(one));
  }
  return result;
}

NetworkProbe network_probe_of(const json& json) {
  NetworkProbe probe;
  for (const auto& one : json.at("hosts")) {
    HostProfile host;
    host.name = one.at("name");
    host.slots = one.at("slots");
    for (const ProfileField& field : kProfileFields) host.*field.member = one.at(field.name);
    probe.cluster.hosts.push_back(std::move(host));
  }
  for (const auto& one : json.at("ranks")) {
    HostFindings found;
    for (const FindingField& field : kFindingFields) found.*field.member = one.at(field.name);
    probe.findings.push_back(found);
  }
  probe.cluster.all_at_once = json.at("all_at_once");
  probe.cluster.spread = json.at("spread");
  probe.ring_alone = json.at("ring_alone");
  probe.seconds = json.at("seconds");
  return probe;
}

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
