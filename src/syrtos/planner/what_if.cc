#include "syrtos/planner/what_if.h"

#include <algorithm>

#include "syrtos/base/error.h"

namespace syrtos::planner {

using strategy::Exchange;
using strategy::Sync;
using strategy::Wire;

namespace {

/// The exchanges and modes of the best ones.
SearchSpace best_ways(const SearchSpace& all, const Plan& plan) {
  SearchSpace space = all;
  space.exchanges.clear();
  space.syncs.clear();
  for (size_t i = 0; i < plan.ranked.size() && i < 12; ++i) {
    const Candidate& candidate = plan.ranked[i].candidate;
    if (candidate.workers == 1) continue;
    const auto same_exchange = [&](const Exchange& e) {
      return to_string(e) == to_string(candidate.options.exchange);
    };
    const auto same_sync = [&](const Sync& s) {
      return to_string(s) == to_string(candidate.options.sync);
    };
    if (std::none_of(space.exchanges.begin(), space.exchanges.end(), same_exchange)) {
      space.exchanges.push_back(candidate.options.exchange);
    }
    if (std::none_of(space.syncs.begin(), space.syncs.end(), same_sync)) {
      space.syncs.push_back(candidate.options.sync);
    }
  }
  return space.exchanges.empty() ? all : space;
}

/// All of computing takes half the time, replayed or not.
Workload twice_as_fast(Workload workload) {
  workload.compute.update_s /= 2;
  for (strategy::ComputeTimes::Pass& pass : workload.compute.passes) {
    pass.seconds /= 2;
    for (auto* times : {&pass.needed, &pass.ready, &pass.items}) {
      for (double& seconds : *times) seconds /= 2;
    }
  }
  return workload;
}

}  // namespace

std::vector<WhatIf> what_ifs(const Workload& workload, const ClusterProfile& cluster,
                             const PlanOptions& options, const Plan& plan) {
  PlanOptions again = options;
  again.space = best_ways(options.space, plan);
  again.what_if = false;
  again.detailed = 0;
  again.effort = options.effort / 8;
  again.progress = {};
  std::vector<WhatIf> answers;
  // Found with the same effort as the others, or a wish could seem to make things worse.
  const Plan today = make_plan(workload, cluster, again);
  const auto ask = [&](const std::string& what, const Workload& job, const ClusterProfile& hosts,
                       const PlanOptions& how) {
    if (options.progress) options.progress(0.95, "what if: " + what);
    if (options.should_stop && options.should_stop()) return;
    try {
      const Plan other = make_plan(job, hosts, how);
      answers.push_back({what, other.best(), today.best().epoch_s / other.best().epoch_s});
    } catch (const RequestError&) {
      // What fits nowhere would gain nothing.
    }
  };
  ClusterProfile changed = cluster;
  for (HostProfile& host : changed.hosts) host.bandwidth *= 10;
  changed.all_at_once *= 10;
  ask("the network were 10 times faster", workload, changed, again);
  changed = cluster;
  for (HostProfile& host : changed.hosts) host.latency /= 2;
  ask("latency were half", workload, changed, again);
  ask("hosts computed twice as fast", twice_as_fast(workload), cluster, again);
  if (plan.out_of_memory > 0 || !plan.alone_fits) {
    constexpr double kMore = 4e9;
    changed = cluster;
    for (HostProfile& host : changed.hosts) host.memory += host.memory > 0 ? kMore : 0;
    ask("hosts had 4 GB more memory", workload, changed, again);
  }
  Workload larger = workload;
  larger.batch *= 2;
  if (larger.batch <= larger.samples) {
    ask("the batch were twice as large", larger, cluster, again);
  }
  PlanOptions rounded = again;
  rounded.space.wires = {{Wire::Kind::bf16, 0}};
  ask("bf16 were on the wire", workload, cluster, rounded);
  std::stable_sort(answers.begin(), answers.end(),
                   [](const WhatIf& a, const WhatIf& b) { return a.gain > b.gain; });
  return answers;
}

}  // namespace syrtos::planner
