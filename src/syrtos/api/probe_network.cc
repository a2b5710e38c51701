#include "syrtos/api/probe_network.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "syrtos/api/rank.h"
#include "syrtos/base/error.h"
#include "syrtos/base/parallel.h"

namespace syrtos::api {

using nlohmann::json;
using planner::HostFindings;
using planner::HostProfile;
using planner::NetworkProbe;

namespace {

constexpr double kLeastSeconds = 0.5;
constexpr double kMostSeconds = 600;
constexpr int kMostWorkers = 256;

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

void check(const NetworkProbeRequest& request) {
  if (request.local && !request.hosts.empty()) {
    fail_request("--local measures processes of this machine: leave --hosts out");
  }
  if (!request.local && request.hosts.empty()) {
    fail_request(
        "which hosts? Give --hosts FILE, one name per line, or --local for processes of this "
        "machine");
  }
  if (!request.local && request.workers != NetworkProbeRequest::kWorkers) {
    fail_request("--workers {}: one process runs on each host; leave it out, or use --local",
                 request.workers);
  }
  if (!(request.seconds >= kLeastSeconds && request.seconds <= kMostSeconds)) {
    fail_request("--seconds: expected {} to {}, found {}", kLeastSeconds, kMostSeconds,
                 request.seconds);
  }
  if (request.workers < 2 || request.workers > kMostWorkers) {
    fail_request("--workers: expected 2 to {}, found {}: messages pass between them", kMostWorkers,
                 request.workers);
  }
}

launch::LaunchOptions options_of(const NetworkProbeRequest& request,
                                 const NetworkProbePrograms& programs,
                                 const Surroundings& surroundings) {
  launch::LaunchOptions options;
  options.command = programs.command;
  options.columns = {0, programs.error_columns};  // the output is ours
  options.should_stop = surroundings.should_stop;
  options.stop_timeout = std::chrono::seconds(5);
  if (request.local) {
    options.hosts = {launch::this_machine(surroundings.cpu.cores, request.workers)};
    options.placements = launch::place(request.workers, 0, options.hosts);
    return options;
  }
  options.hosts = launch::read_hosts(request.hosts);
  if (options.hosts.size() < 2) {
    fail_request(
        "{}: expected at least 2 hosts, found {}: a network is between hosts; measure processes of "
        "one machine with --local",
        request.hosts, options.hosts.front().name);
  }
  options.remote = launch::RemoteShell{programs.remote_shell, std::filesystem::current_path(),
                                       !programs.program.package.empty()};
  launch::prepare_hosts(options.hosts, *options.remote, programs.program, surroundings.should_stop);
  for (const launch::Host& host : options.hosts) {
    const auto rank = static_cast<int>(options.placements.size());
    options.placements.push_back({rank, launch::Role::worker, rank, host.cores});
  }
  return options;
}

world::Task<> keep(world::Task<NetworkProbe> task, NetworkProbe& result) { result = co_await task; }

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

NetworkProbed probe_network(const NetworkProbeRequest& request,
                            const NetworkProbePrograms& programs,
                            const Surroundings& surroundings) {
  check(request);
  launch::LaunchOptions options = options_of(request, programs, surroundings);
  std::string told;  // by rank 0
  options.write = [&told](launch::Stream stream, std::string_view text) {
    if (stream == launch::Stream::output) {
      told += text;
    } else {
      launch::write_to_own_streams(stream, text);
    }
  };
  NetworkProbed probed{.end = launch::launch(options)};
  if (probed.end.code != 0 || probed.end.interrupted) return probed;
  try {
    probed.probe = network_probe_of(json::parse(told));
  } catch (const json::exception& error) {
    fail_run("rank 0 says what nobody understands ({}): is another version on its host?",
             error.what());
  }
  for (size_t i = 0; i < probed.probe.cluster.hosts.size(); ++i) {
    probed.probe.cluster.hosts[i].slots = options.hosts[i].slots;
  }
  return probed;
}

bool probe_network_as_rank(const std::string& join, double seconds,
                           const Surroundings& surroundings,
                           const std::function<void()>& end_process, const ShowNetworkProbe& show) {
  JoinedRank self(join, end_process);
  const ThreadScope threads(self.invitation().cores);
  bool done = true;
  const bool all_there = self.run([&](world::TcpWorld& world, launch::Membership& membership) {
    const bool first = world.rank() == 0;
    if (first) membership.begun();
    const auto should_stop = [&] {
      return membership.stop_requested() || surroundings.should_stop();
    };
    planner::NetworkProbeOptions options;
    options.seconds = seconds;
    options.cores = surroundings.cpu.cores;
    options.memory = static_cast<double>(surroundings.cpu.memory_bytes);
    options.should_stop = should_stop;
    const auto line = show(first ? self.invitation().error_columns : 0);
    options.progress = [&](const std::string& doing, double part) {
      membership.report(doing);
      line(doing, part);
    };
    NetworkProbe result;
    try {
      world.run(keep(planner::probe_network(world, std::move(options)), result));
    } catch (const world::PeerLost&) {
      throw;
    } catch (const RunError&) {
      if (!should_stop()) throw;
      done = false;  // the launcher says so
      return;
    }
    if (first) fmt::print("{}\n", to_json(result).dump());
    std::fflush(stdout);
  });
  return all_there && done;
}

}  // namespace syrtos::api
