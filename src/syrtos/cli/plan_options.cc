#include "syrtos/cli/plan_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "syrtos/base/error.h"
#include "syrtos/cli/status_line.h"
#include "syrtos/launch/hosts.h"

namespace syrtos::cli {

using planner::ClusterProfile;
using planner::HostProfile;
using planner::SearchSpace;

namespace {

std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words;
  for (size_t begin = 0; begin < text.size();) {
    const size_t comma = std::min(text.find(',', begin), text.size());
    words.push_back(text.substr(begin, comma - begin));
    begin = comma + 1;
  }
  return words;
}

int count_of(const std::string& text) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < 1) {
    fail_request("--workers: expected 1 or more, such as 8 (up to 8) or 2,4,8, found '{}'", text);
  }
  return number;
}

SearchSpace space_of(const PlanOptions& options, const ClusterProfile& cluster) {
  SearchSpace space;
  for (const std::string& word : words_of(options.exchanges)) {
    space.exchanges.push_back(strategy::parse_exchange(word));
  }
  for (const std::string& word : words_of(options.syncs)) {
    space.syncs.push_back(strategy::parse_sync(word));
  }
  for (const std::string& word : words_of(options.wires)) {
    space.wires.push_back(strategy::parse_wire(word));
  }
  space.bucket_mb = options.bucket_mb;
  const std::vector<std::string> workers = words_of(options.workers);
  int slots = 0;
  for (const HostProfile& host : cluster.hosts) slots += host.slots;
  for (const std::string& word : workers) {
    const int count = count_of(word);
    if (count > slots) {
      fail_request("--workers {}: the cluster has {} slots on {} hosts", count, slots,
                   cluster.hosts.size());
    }
    if (workers.size() == 1) {
      for (int n = 1; n <= count; ++n) space.workers.push_back(n);
    } else {
      space.workers.push_back(count);
    }
  }
  return space;
}

/// Processes that this machine is to have.
int slots_here(const PlanOptions& options, const CpuInfo& cpu) {
  int slots = options.workers.empty() ? std::max(1, cpu.cores) : 0;
  for (const std::string& word : words_of(options.workers)) {
    slots = std::max(slots, count_of(word));
  }
  return slots;
}

/// Hosts have the names and slots that the file of hosts gives them, which is what training uses.
void name_hosts(ClusterProfile& cluster, const PlanOptions& options) {
  const std::vector<launch::Host> hosts = launch::read_hosts(options.hosts);
  const bool assumed = planner::is_in_words(options.cluster);
  if (assumed && cluster.hosts.size() > hosts.size()) {
    fail_request("--cluster \"{}\": {} has {} host{} ({})", options.cluster, options.hosts,
                 hosts.size(), hosts.size() == 1 ? "" : "s", launch::list_slots(hosts));
  }
  for (size_t i = 0; i < cluster.hosts.size(); ++i) {
    HostProfile& profile = cluster.hosts[i];
    const auto found = assumed ? hosts.begin() + static_cast<ptrdiff_t>(i)
                               : std::find_if(hosts.begin(), hosts.end(), [&](const auto& host) {
                                   return host.name == profile.name;
                                 });
    if (found == hosts.end()) {
      fail_request("{}: host {} is not in {} ({}): measure again with 'syrtos probe network'",
                   options.cluster, profile.name, options.hosts, launch::list_slots(hosts));
    }
    profile.name = found->name;
    if (!assumed || found->slots > 1) profile.slots = found->slots;
  }
}

ClusterProfile cluster_for(const PlanOptions& options, const CpuInfo& cpu) {
  if (options.cluster.empty()) {
    if (!options.hosts.empty()) {
      fail_request(
          "--hosts {}: what its network can do is not known: measure it with 'syrtos probe network "
          "--hosts {} --to cluster.toml' and add --cluster cluster.toml, or assume it: --cluster "
          "\"8 hosts, 1 Gbit/s, 60 us\"",
          options.hosts, options.hosts);
    }
    return api::this_machine(slots_here(options, cpu), cpu);
  }
  ClusterProfile cluster = planner::cluster_of(options.cluster);
  if (!options.hosts.empty()) name_hosts(cluster, options);
  return cluster;
}

}  // namespace

job::JobRequest planned_job(const TrainOptions& job, const PlanOptions& plan) {
  job::JobRequest request = read_job(job);
  if (!plan.compute.empty() && job.job_file.empty() && !job.sets("network")) {
    request.network = strategy::read_compute_times(plan.compute).network;
  }
  return request;
}

api::Planned make_plan(const PlanOptions& options, const job::JobRequest& job,
                       const Context& context, bool talks) {
  StatusLine status(talks ? stderr : nullptr);
  api::PlanRequest request;
  request.job = job;
  request.cluster = cluster_for(options, context.cpu);
  request.space = space_of(options, request.cluster);
  request.goal = planner::parse_goal(options.goal);
  if (!options.compute.empty()) request.compute = strategy::read_compute_times(options.compute);
  if (options.replayed && options.compute.empty()) {
    fail_request(
        "--replayed: which computing times will be replayed? Give --compute FILE, which 'syrtos "
        "probe "
        "compute --times FILE' writes");
  }
  request.seconds = options.seconds;
  request.what_if = options.what_if;
  request.replayed = options.replayed;
  request.progress = [&](const std::string& doing) { status.show(doing); };
  return api::plan(request, surroundings(context));
}

}  // namespace syrtos::cli
