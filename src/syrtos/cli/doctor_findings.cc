#include "syrtos/cli/doctor_findings.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>

#include "syrtos/base/format.h"

namespace syrtos::cli {

namespace {

constexpr double kClockTolerance = 1;               // seconds
constexpr int64_t kLeastDisk = int64_t{1} << 30;    // bytes
constexpr int64_t kLeastMemory = int64_t{1} << 30;  // bytes
constexpr int kSlowLink = 1000;                     // Mbit/s

class Findings {
 public:
  Findings(const std::vector<launch::Host>& hosts, const std::vector<launch::Visit>& visits)
      : hosts_(hosts), visits_(visits) {
    for (const launch::Visit& visit : visits) facts_.push_back(facts_of(visit.facts));
  }

  std::vector<std::string> find(const std::string& own_program) {
    for (size_t i = 0; i < hosts_.size(); ++i) {
      if (!visits_[i].problem.empty()) found_.push_back(visits_[i].problem);
      if (!visits_[i].facts.empty()) look_at(i, own_program);
    }
    look_at_pairs();
    compare("MTUs", "bytes", &HostFacts::mtu,
            "full packets may get lost between them: set the same MTU everywhere");
    compare("link speeds", "Mbit/s", &HostFacts::mbit,
            "the slowest one holds up all: see cables and switch ports");
    return std::move(found_);
  }

 private:
  const std::string& name(size_t i) const { return hosts_[i].name; }

  void look_at(size_t i, const std::string& own_program) {
    const HostFacts& facts = facts_[i];
    if (facts.program != own_program) {
      found_.push_back(
          fmt::format("host {} has another program: expected {}, found {}; copy this one there",
                      name(i), own_program, facts.program));
    }
    const double ahead = visits_[i].clock_ahead_s;
    if (std::abs(ahead) > kClockTolerance + visits_[i].clock_error_s) {
      found_.push_back(fmt::format(
          "host {}: its clock is {} {} this machine's; let both follow one clock (chrony, NTP)",
          name(i), format_duration(std::abs(ahead)), ahead > 0 ? "ahead of" : "behind"));
    }
    if (facts.disk_bytes < kLeastDisk) {
      found_.push_back(
          fmt::format("host {}: {} free in the directory of the run: expected {}; make room there",
                      name(i), format_bytes(static_cast<double>(facts.disk_bytes)),
                      format_bytes(static_cast<double>(kLeastDisk))));
    } else if (facts.cache_bytes < kLeastDisk) {
      found_.push_back(
          fmt::format("host {}: {} free in the user's cache: expected {}; make room there", name(i),
                      format_bytes(static_cast<double>(facts.cache_bytes)),
                      format_bytes(static_cast<double>(kLeastDisk))));
    }
    if (facts.memory_bytes < kLeastMemory) {
      found_.push_back(fmt::format("host {} has only {} of memory", name(i),
                                   format_bytes(static_cast<double>(facts.memory_bytes))));
    }
    if (facts.mbit > 0 && facts.mbit < kSlowLink) {
      found_.push_back(
          fmt::format("host {}: its link runs at {} Mbit/s; a bad cable, or a port that is set so?",
                      name(i), facts.mbit));
    }
    for (const std::string& leftover : facts.leftovers) {
      found_.push_back(fmt::format("host {}: {}", name(i), leftover));
    }
  }

  void look_at_pairs() {
    for (size_t i = 0; i < hosts_.size(); ++i) {
      for (const auto& [peer, problem] : visits_[i].reaches) {
        if (problem.empty()) continue;
        found_.push_back(
            fmt::format("host {} does not reach {}: {}; let TCP ports of the range in "
                        "/proc/sys/net/ipv4/ip_local_port_range through, in both directions",
                        name(i), peer == "launcher" ? "this machine" : peer, problem));
      }
    }
  }

  void compare(const std::string& what, const std::string& unit, int HostFacts::*number,
               const std::string& advice) {
    std::map<int, std::vector<std::string>> hosts_with;
    for (size_t i = 0; i < hosts_.size(); ++i) {
      if (facts_[i].*number > 0) hosts_with[facts_[i].*number].push_back(name(i));
    }
    if (hosts_with.size() < 2) return;
    std::vector<std::string> parts;
    for (const auto& [value, names] : hosts_with) {
      parts.push_back(fmt::format("{} {} on {}", value, unit, fmt::join(names, ", ")));
    }
    found_.push_back(
        fmt::format("the hosts have different {}: {}; {}", what, fmt::join(parts, "; "), advice));
  }

  const std::vector<launch::Host>& hosts_;
  const std::vector<launch::Visit>& visits_;
  std::vector<HostFacts> facts_;
  std::vector<std::string> found_;
};

}  // namespace

HostFacts facts_of(const std::string& text) {
  HostFacts facts;
  if (text.empty()) return facts;
  const nlohmann::json json = nlohmann::json::parse(text);
  facts.program = json.value("program", "");
  facts.cpu = json.value("cpu", "");
  facts.precision = json.value("precision", "");
  facts.cores = json.value("cores", 0);
  facts.memory_bytes = json.value("memory_bytes", int64_t{0});
  facts.disk_bytes = json.value("disk_bytes", int64_t{0});
  facts.cache_bytes = json.value("cache_bytes", int64_t{0});
  facts.mtu = json.value("mtu", 0);
  facts.mbit = json.value("mbit", 0);
  facts.leftovers = json.value("leftovers", std::vector<std::string>());
  return facts;
}

std::vector<std::string> findings_of(const std::vector<launch::Host>& hosts,
                                     const std::vector<launch::Visit>& visits,
                                     const std::string& own_program) {
  return Findings(hosts, visits).find(own_program);
}

}  // namespace syrtos::cli
