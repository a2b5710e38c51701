#include "syrtos/report/explain_cpus.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "syrtos/report/text.h"

namespace syrtos::report {

namespace {

constexpr double kInLine = 0.15;     // of the time that threads want to run
constexpr double kComputing = 0.05;  // CPUs: below, a rank hardly computes

const run::RankTraffic* traffic_of(const Run& run, int rank) {
  if (!run.exchange) return nullptr;
  for (const auto* ranks : {&run.exchange->ranks, &run.exchange->servers}) {
    for (const run::RankTraffic& one : *ranks) {
      if (one.rank == rank) return &one;
    }
  }
  return nullptr;
}

/// Ranks that run on one machine, whatever its hosts are called.
struct Machine {
  std::set<std::string> hosts = {};
  int64_t ranks = 0, threads = 0, cores = 0;
};

Machine machine_of(const Run& run, const run::RankTraffic& rank) {
  Machine machine{.cores = rank.cores};
  for (const run::RankTraffic& other : run.exchange->ranks) {
    if (other.machine != rank.machine) continue;
    machine.hosts.insert(other.host);
    ++machine.ranks;
    machine.threads += other.threads;
  }
  return machine;
}

std::string list_of(const std::set<std::string>& names) {
  std::string text;
  size_t i = 0;
  for (const std::string& name : names) {
    if (i == 8) return text + fmt::format(" and {} more", names.size() - 8);
    text += (i == 0 ? "" : i + 1 == names.size() ? " and " : ", ") + name;
    ++i;
  }
  return text;
}

const char* plural(int64_t count) { return count == 1 ? "" : "s"; }

}  // namespace

std::optional<CpuUse> cpu_use(const Run& run, int rank) {
  const run::RankTraffic* traffic = traffic_of(run, rank);
  if (traffic == nullptr || traffic->seconds <= 0 || run.job.replayed) return {};
  const double wanted = traffic->cpu_s + traffic->ready_s;
  if (wanted < kComputing * traffic->seconds) return {};
  return CpuUse{.cpus = traffic->cpu_s / traffic->seconds,
                .in_line = traffic->ready_s / wanted,
                .threads = traffic->threads,
                .cores = traffic->cores};
}

std::optional<TooFewCpus> too_few_cpus(const Explanation& explanation, const Run& run) {
  const RankTime* worst = nullptr;
  double lost = 0, mean = 0;
  for (const RankTime& rank : explanation.ranks) {
    const std::optional<CpuUse> use = cpu_use(run, rank.rank);
    if (!use || use->in_line < kInLine) continue;
    const double seconds = rank.computing() * use->in_line;
    mean += seconds / static_cast<double>(explanation.ranks.size());
    if (seconds > lost) {
      lost = seconds;
      worst = &rank;
    }
  }
  if (worst == nullptr) return {};
  const run::RankTraffic& traffic = *traffic_of(run, worst->rank);
  const Machine machine = machine_of(run, traffic);
  TooFewCpus found{.seconds = explanation.in_step ? lost : mean};
  const double in_line = cpu_use(run, worst->rank)->in_line;
  const std::string wait = fmt::format(
      "; threads of {} stand in line for a core {:.0f} % of the time that they want to run",
      worst->name, 100 * in_line);
  if (machine.cores < 1 || machine.threads <= machine.cores) {
    found.others = true;
    found.text = fmt::format("other programs take the CPUs of {}: {} gets {:.2f} of them{}",
                             traffic.host.empty() ? "this machine" : "host " + traffic.host,
                             worst->name, cpu_use(run, worst->rank)->cpus, wait);
  } else if (traffic.threads > traffic.cores) {
    found.text = fmt::format("{} threads compute on {} core{} of {}{}", traffic.threads,
                             traffic.cores, plural(traffic.cores),
                             traffic.host.empty() ? "this machine" : "host " + traffic.host, wait);
  } else if (machine.hosts.size() > 1) {
    found.text = fmt::format(
        "hosts {} are one machine: {} ranks compute there with {} threads on {} core{}{}",
        list_of(machine.hosts), machine.ranks, machine.threads, machine.cores,
        plural(machine.cores), wait);
  } else {
    found.text =
        fmt::format("{} ranks compute with {} threads on {} core{} of host {}{}", machine.ranks,
                    machine.threads, machine.cores, plural(machine.cores), traffic.host, wait);
  }
  const int64_t fair = std::max<int64_t>(1, machine.cores / std::max<int64_t>(1, machine.ranks));
  if (!found.others && fair < traffic.threads) found.threads = fair;
  return found;
}

}  // namespace syrtos::report
