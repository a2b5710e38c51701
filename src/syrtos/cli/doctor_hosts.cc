#include "syrtos/cli/doctor_hosts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "syrtos/base/clock.h"
#include "syrtos/base/counted.h"
#include "syrtos/base/error.h"
#include "syrtos/base/format.h"
#include "syrtos/cli/doctor_findings.h"
#include "syrtos/launch/bring.h"
#include "syrtos/launch/leftovers.h"
#include "syrtos/launch/link.h"
#include "syrtos/launch/visit.h"
#include "syrtos/report/text.h"
#include "syrtos/train/measure/doctor.h"

namespace syrtos::cli {

namespace fs = std::filesystem;

namespace {

constexpr size_t kLongestCpu = 28;  // columns

/// Free bytes at a path, or at the nearest directory above that is there.
int64_t free_bytes(fs::path path) {
  std::error_code error;
  while (!fs::exists(path, error) && path.has_parent_path() && path != path.parent_path()) {
    path = path.parent_path();
  }
  const fs::space_info space = fs::space(path, error);
  return error ? 0 : static_cast<int64_t>(space.available);
}

std::string in_words(const launch::Leftover& leftover) {
  return fmt::format("process {} is a rank of run {}{}", leftover.process, leftover.run,
                     leftover.stopped ? fmt::format(" that was stopped; end it there: kill -9 {}",
                                                    leftover.process)
                                      : "; if nobody trains it, end it there");
}

/// "same" or "other", and the rest of a row.
std::array<std::string, 10> row_of(const launch::Host& host, const launch::Visit& visit,
                                   const std::string& own_program) {
  if (visit.facts.empty()) return {host.name, "-", "-", "-", "-", "-", "-", "-", "-", "-"};
  const HostFacts facts = facts_of(visit.facts);
  const auto reached =
      std::ranges::count_if(visit.reaches, [](const auto& reach) { return reach.second.empty(); });
  const double ahead = visit.clock_ahead_s;
  return {host.name,
          facts.program == own_program ? "same" : "other",
          report::shortened(facts.cpu, kLongestCpu),
          fmt::format("{}", facts.cores),
          facts.precision,
          format_bytes(static_cast<double>(facts.memory_bytes)),
          format_bytes(static_cast<double>(std::min(facts.disk_bytes, facts.cache_bytes))),
          std::abs(ahead) < 1 ? fmt::format("{:+.1f} ms", ahead * 1e3)
                              : fmt::format("{:+.0f} s", ahead),
          fmt::format("{} {}", facts.mtu,
                      facts.mbit == 0 ? "?" : fmt::format("{:g}G", facts.mbit / 1e3)),
          fmt::format("{} of {}", reached, visit.reaches.size())};
}

void print_table(const std::vector<launch::Host>& hosts, const std::vector<launch::Visit>& visits,
                 const std::string& own_program) {
  std::vector<std::array<std::string, 10>> rows = {{"host", "program", "CPU", "cores", "precision",
                                                    "memory", "disk free", "clock", "MTU, link",
                                                    "reaches"}};
  for (size_t i = 0; i < hosts.size(); ++i)
    rows.push_back(row_of(hosts[i], visits[i], own_program));
  std::array<size_t, 10> widths{};
  for (const auto& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) {
      widths[i] = std::max(widths[i], report::length_of(row[i]));
    }
  }
  for (const auto& row : rows) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      line += row[i] + std::string(widths[i] - report::length_of(row[i]) + 2, ' ');
    }
    fmt::print("{}\n", line.substr(0, line.find_last_not_of(' ') + 1));
  }
}

nlohmann::json to_json(const std::vector<launch::Host>& hosts,
                       const std::vector<launch::Visit>& visits,
                       const std::vector<std::string>& findings) {
  nlohmann::json list = nlohmann::json::array();
  for (size_t i = 0; i < hosts.size(); ++i) {
    nlohmann::json one =
        visits[i].facts.empty() ? nlohmann::json::object() : nlohmann::json::parse(visits[i].facts);
    one["name"] = hosts[i].name;
    one["reachable"] = !visits[i].facts.empty();
    if (!visits[i].facts.empty()) {
      one["clock_ahead_s"] = visits[i].clock_ahead_s;
      one["clock_error_s"] = visits[i].clock_error_s;
    }
    for (const auto& [peer, problem] : visits[i].reaches) one["reaches"][peer] = problem.empty();
    list.push_back(one);
  }
  return {{"hosts", list}, {"findings", findings}};
}

}  // namespace

int examine_hosts(const DoctorHostsRequest& request, const Context& context) {
  const Clock::time_point begun = Clock::now();
  std::vector<launch::Host> hosts = launch::read_hosts(request.hosts);
  const launch::HostProgram program = host_program(context, request.installed);
  const launch::RemoteShell shell{request.remote_shell, fs::current_path(),
                                  !program.package.empty()};
  std::vector<std::string> problems(hosts.size());
  if (!program.package.empty()) {
    problems = launch::bring_package(hosts, shell, program.package, context.interrupted,
                                     program.note, /*all_or_none=*/false);
  }
  std::vector<launch::Visit> visits = launch::visit_hosts(
      hosts, shell, own_command(context, {"doctor", "--as-host"}), context.interrupted);
  for (size_t i = 0; i < hosts.size(); ++i) {
    if (!problems[i].empty()) visits[i].problem = problems[i];
  }
  const std::string own = launch::program_identity();
  const std::vector<std::string> findings = findings_of(hosts, visits, own);
  if (request.json) {
    fmt::print("{}\n", to_json(hosts, visits, findings).dump());
  } else {
    print_table(hosts, visits, own);
    fmt::print("\n");
    for (const std::string& finding : findings) fmt::print("wrong    {}\n", finding);
    if (findings.empty()) {
      fmt::print("ok       {}\n",
                 hosts.size() == 1 ? "the host can be used"
                                   : fmt::format("all {} hosts can be used, and each reaches each",
                                                 hosts.size()));
    }
    fmt::print("{} in {}\n", counted(static_cast<int64_t>(hosts.size()), "host"),
               format_duration(seconds_since(begun)));
  }
  return findings.empty() ? kExitDone : kExitFailed;
}

int be_examined(const std::string& address, const Context& context) {
  const train::Diagnosis d = train::examine(context.cpu, context.environment.cache_home);
  const launch::Link link = launch::find_link(address);
  std::vector<std::string> leftovers;
  for (const launch::Leftover& leftover : launch::find_leftovers()) {
    leftovers.push_back(in_words(leftover));
  }
  const fs::path& cache = context.environment.cache_home;
  launch::be_visited(address, {{"program", launch::program_identity()},
                               {"cpu", d.cpu.model},
                               {"cores", d.cpu.cores},
                               {"memory_bytes", d.cpu.memory_bytes},
                               {"precision", to_string(d.precision.dtype)},
                               {"disk_bytes", free_bytes(fs::current_path())},
                               {"cache_bytes", free_bytes(cache.empty() ? "/tmp" : cache)},
                               {"mtu", link.mtu},
                               {"mbit", link.mbit},
                               {"leftovers", leftovers}});
  return kExitDone;
}

}  // namespace syrtos::cli
