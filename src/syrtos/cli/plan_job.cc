#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>

#include "syrtos/base/error.h"
#include "syrtos/base/format.h"
#include "syrtos/base/memory.h"
#include "syrtos/cli/plan_request.h"
#include "syrtos/cli/status_line.h"
#include "syrtos/job/resolve.h"
#include "syrtos/launch/hosts.h"
#include "syrtos/train/compiled_network.h"
#include "syrtos/train/probe.h"

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

SearchSpace space_of(const PlanRequest& request, const ClusterProfile& cluster) {
  SearchSpace space;
  for (const std::string& word : words_of(request.exchanges)) {
    space.exchanges.push_back(strategy::parse_exchange(word));
  }
  for (const std::string& word : words_of(request.syncs)) {
    space.syncs.push_back(strategy::parse_sync(word));
  }
  for (const std::string& word : words_of(request.wires)) {
    space.wires.push_back(strategy::parse_wire(word));
  }
  space.bucket_mb = request.bucket_mb;
  const std::vector<std::string> workers = words_of(request.workers);
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

/// Processes on this machine.
ClusterProfile this_machine(const PlanRequest& request, const CpuInfo& cpu) {
  HostProfile host;
  host.name = "localhost";
  host.slots = request.workers.empty() ? std::max(1, cpu.cores) : 0;
  for (const std::string& word : words_of(request.workers)) {
    host.slots = std::max(host.slots, count_of(word));
  }
  host.cores = cpu.cores;
  host.memory = static_cast<double>(free_memory());
  host.core_s_per_gb = 0.3;
  return {.hosts = {host}};
}

ClusterProfile cluster_for(const PlanRequest& request, const CpuInfo& cpu) {
  if (request.cluster.empty()) {
    if (!request.hosts.empty()) {
      fail_request(
          "--hosts {}: what its network can do is not known: measure it with 'syrtos probe network "
          "--hosts {} --to cluster.toml' and add --cluster cluster.toml, or assume it: --cluster "
          "\"8 hosts, 1 Gbit/s, 60 us\"",
          request.hosts, request.hosts);
    }
    return this_machine(request, cpu);
  }
  ClusterProfile cluster = planner::cluster_of(request.cluster);
  if (request.hosts.empty()) return cluster;
  std::set<std::string> known;
  std::string names;
  for (const launch::Host& host : launch::read_hosts(request.hosts)) {
    known.insert(host.name);
    names += (names.empty() ? "" : ", ") + host.name;
  }
  for (const HostProfile& host : cluster.hosts) {
    if (!known.contains(host.name)) {
      fail_request("{}: host {} is not in {} ({}): measure again with 'syrtos probe network'",
                   request.cluster, host.name, request.hosts, names);
    }
  }
  return cluster;
}

/// The batch sizes that workers would have: with split, halves of halves down to a worker's share.
std::vector<int64_t> batches_of(int64_t batch, const ClusterProfile& cluster,
                                const SearchSpace& space) {
  const bool splits = space.syncs.empty() ||
                      std::any_of(space.syncs.begin(), space.syncs.end(),
                                  [](const strategy::Sync& sync) { return sync.splits_batch(); });
  int64_t most = 1;
  for (const HostProfile& host : cluster.hosts) most += host.slots;
  for (const int workers : space.workers) most = std::min<int64_t>(most, workers);
  if (!space.workers.empty()) {
    most = *std::max_element(space.workers.begin(), space.workers.end());
  }
  std::vector<int64_t> batches{batch};
  constexpr size_t kMost = 5;
  while (splits && batches.size() < kMost && batches.back() > 1 && batches.back() * most > batch) {
    batches.push_back((batches.back() + 1) / 2);
  }
  return batches;
}

strategy::ComputeTimes compute_for(const PlanRequest& request, const job::Job& job,
                                   const std::vector<int64_t>& batches, const Context& context) {
  const train::ProbeOptions probe{.image = job.image,
                                  .classes = job.classes,
                                  .precision = job.precision,
                                  .threads = job.threads,
                                  .seconds = request.seconds};
  return train::probe_times(job.network, probe, batches, context.interrupted);
}

}  // namespace

Planned plan_job(const PlanRequest& request, const job::JobRequest& job, const Context& context,
                 bool talks) {
  Planned planned;
  StatusLine status(talks ? stderr : nullptr);
  planned.cluster = cluster_for(request, context.cpu);
  const SearchSpace space = space_of(request, planned.cluster);
  const planner::Goal goal = planner::parse_goal(request.goal);
  planned.workload.batch = job.batch;
  planned.workload.replayed = request.replayed;
  if (job.batch < 1) fail_request("--batch: expected 1 or more, found {}", job.batch);
  job::JobRequest alone = job;
  job::apply({}, 1, alone);
  if (!request.compute.empty()) {
    planned.workload.compute = strategy::read_compute_times(request.compute);
    if (alone.data == "random") {
      planned.workload.samples = job.samples;
    } else {
      alone.network = planned.workload.compute.network;
    }
  }
  if (planned.workload.samples == 0) {
    const job::Job resolved = job::resolve(alone, context.cpu, context.environment.cache_home);
    planned.workload.samples = resolved.data.train->size();
    if (request.compute.empty()) {
      const std::vector<int64_t> batches = batches_of(job.batch, planned.cluster, space);
      status.show(
          fmt::format("measuring {} with batches of {}", job.network, fmt::join(batches, ", ")));
      planned.workload.compute = compute_for(request, resolved, batches, context);
    }
  }
  if (planned.workload.samples < job.batch) {
    fail_request("--samples: expected at least a batch ({}), found {}", job.batch,
                 planned.workload.samples);
  }
  if (context.interrupted()) fail_run("interrupted while measuring");
  planner::PlanOptions options;
  options.space = space;
  options.goal = goal;
  options.what_if = request.what_if;
  options.should_stop = context.interrupted;
  options.progress = [&](double share, const std::string& what) {
    status.show(fmt::format("planning {:3.0f} %: {}", 100 * share, what));
  };
  planned.plan = make_plan(planned.workload, planned.cluster, options);
  return planned;
}

}  // namespace syrtos::cli
