#include "syrtos/api/plan_wishes.h"

#include <algorithm>
#include <charconv>

#include "syrtos/base/counted.h"
#include "syrtos/base/error.h"
#include "syrtos/launch/hosts.h"

namespace syrtos::api {

using planner::ClusterProfile;
using planner::HostProfile;
using planner::SearchSpace;

namespace {

std::vector<std::string> split(const std::string& text) {
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

/// "none,columns,layers:4": of these. Names of layers are where one cut begins its parts.
std::vector<strategy::Split> splits_of(const std::string& text) {
  using Kind = strategy::Split::Kind;
  std::vector<strategy::Split> splits;
  for (const std::string& word : split(text)) {
    strategy::Split wish = strategy::parse_split(word);
    const auto cut = std::find_if(splits.begin(), splits.end(),
                                  [](const auto& one) { return one.kind == Kind::names; });
    if (wish.kind == Kind::names && cut != splits.end()) {
      cut->names.push_back(word);
    } else {
      splits.push_back(std::move(wish));
    }
  }
  return splits;
}

SearchSpace space_of(const PlanWishes& wishes, const ClusterProfile& cluster) {
  SearchSpace space;
  for (const std::string& word : split(wishes.exchanges)) {
    space.exchanges.push_back(strategy::parse_exchange(word));
  }
  for (const std::string& word : split(wishes.syncs)) {
    space.syncs.push_back(strategy::parse_sync(word));
  }
  for (const std::string& word : split(wishes.wires)) {
    space.wires.push_back(strategy::parse_wire(word));
  }
  space.splits = splits_of(wishes.splits);
  for (const std::string& word : split(wishes.pipelines)) {
    space.pipelines.push_back(strategy::parse_pipeline(word));
  }
  space.bucket_mb = wishes.bucket_mb;
  const std::vector<std::string> workers = split(wishes.workers);
  int slots = 0;
  for (const HostProfile& host : cluster.hosts) slots += host.slots;
  for (const std::string& word : workers) {
    const int count = count_of(word);
    if (count > slots) {
      fail_request("--workers {}: the cluster has {} on {}", count, counted(slots, "slot"),
                   counted(static_cast<int64_t>(cluster.hosts.size()), "host"));
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
int slots_here(const PlanWishes& wishes, const CpuInfo& cpu) {
  int slots = wishes.workers.empty() ? std::max(1, cpu.cores) : 0;
  for (const std::string& word : split(wishes.workers)) {
    slots = std::max(slots, count_of(word));
  }
  return slots;
}

/// Hosts have the names and slots that the file of hosts gives them, which is what training uses.
void name_hosts(ClusterProfile& cluster, const PlanWishes& wishes) {
  const std::vector<launch::Host> hosts = launch::read_hosts(wishes.hosts);
  const bool assumed = planner::is_in_words(wishes.cluster);
  if (assumed && cluster.hosts.size() > hosts.size()) {
    fail_request("--cluster \"{}\": {} has {} host{} ({})", wishes.cluster, wishes.hosts,
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
                   wishes.cluster, profile.name, wishes.hosts, launch::list_slots(hosts));
    }
    profile.name = found->name;
    if (!assumed || found->slots > 1) profile.slots = found->slots;
  }
}

ClusterProfile cluster_for(const PlanWishes& wishes, const CpuInfo& cpu) {
  if (wishes.cluster.empty()) {
    if (!wishes.hosts.empty()) {
      fail_request(
          "--hosts {}: what its network can do is not known: measure it with 'syrtos probe network "
          "--hosts {} --to cluster.toml' and add --cluster cluster.toml, or assume it: --cluster "
          "\"8 hosts, 1 Gbit/s, 60 us\"",
          wishes.hosts, wishes.hosts);
    }
    return this_machine(slots_here(wishes, cpu), cpu);
  }
  ClusterProfile cluster = planner::cluster_of(wishes.cluster);
  if (!wishes.hosts.empty()) name_hosts(cluster, wishes);
  return cluster;
}

}  // namespace

PlanRequest plan_request(const PlanWishes& wishes, const job::JobRequest& job, const CpuInfo& cpu) {
  PlanRequest request;
  request.job = job;
  request.cluster = cluster_for(wishes, cpu);
  request.space = space_of(wishes, request.cluster);
  request.goal = planner::parse_goal(wishes.goal);
  if (!wishes.compute.empty()) request.compute = strategy::read_compute_times(wishes.compute);
  if (wishes.replayed && wishes.compute.empty()) {
    fail_request(
        "--replayed: which computing times will be replayed? Give --compute FILE, which 'syrtos "
        "probe "
        "compute --times FILE' writes");
  }
  request.seconds = wishes.seconds;
  request.what_if = wishes.what_if;
  request.replayed = wishes.replayed;
  return request;
}

}  // namespace syrtos::api
