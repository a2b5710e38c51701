#include "syrtos/planner/candidates.h"

#include <fmt/format.h>

#include <algorithm>

#include "syrtos/base/error.h"
#include "syrtos/base/format.h"
#include "syrtos/planner/part_candidates.h"
#include "syrtos/planner/part_work.h"

namespace syrtos::planner {

using collective::Algorithm;
using strategy::Exchange;
using strategy::Split;
using strategy::Sync;
using strategy::Wire;

namespace {

constexpr int64_t kLocalSteps = 8;
constexpr int64_t kSlack = 3;  // of ssp

int total_slots(const ClusterProfile& cluster) {
  int slots = 0;
  for (const HostProfile& host : cluster.hosts) slots += host.slots;
  return slots;
}

/// All up to 16; beyond, a few in each doubling.
std::vector<int> usual_workers(int slots) {
  std::vector<int> workers;
  for (int n = 2; n <= std::min(slots, 16); ++n) workers.push_back(n);
  for (int n = 32; n <= slots; n *= 2) workers.push_back(n);
  if (slots > 16 && workers.back() != slots) workers.push_back(slots);
  return workers;
}

std::vector<Exchange> usual_exchanges(const ClusterProfile& cluster) {
  std::vector<Exchange> exchanges;
  for (const Algorithm algorithm :
       {Algorithm::ring, Algorithm::halving_doubling, Algorithm::doubling, Algorithm::tree}) {
    exchanges.push_back({Exchange::Kind::all_reduce, algorithm, 0});
  }
  const bool several = std::any_of(cluster.hosts.begin(), cluster.hosts.end(),
                                   [](const HostProfile& host) { return host.slots > 1; });
  if (several && cluster.hosts.size() > 1) {
    exchanges.push_back({Exchange::Kind::all_reduce, Algorithm::hierarchical, 0});
  }
  for (const int servers : {1, 2, 4}) {
    exchanges.push_back({Exchange::Kind::servers, Algorithm::automatic, servers});
  }
  exchanges.push_back({Exchange::Kind::colocated, Algorithm::automatic, 0});
  return exchanges;
}

std::vector<Sync> usual_syncs() {
  return {{Sync::Kind::split, 0},    {Sync::Kind::join, 0},   {Sync::Kind::async, 0},
          {Sync::Kind::ssp, kSlack}, {Sync::Kind::backup, 1}, {Sync::Kind::local, kLocalSteps}};
}

bool makes_sense(const Candidate& candidate, const Workload& workload) {
  try {
    check(candidate.options, candidate.workers, workload.batch, false);
  } catch (const RequestError&) {
    return false;
  }
  if (candidate.options.splits_columns()) {
    // How the small rest crosses makes little difference.
    const Algorithm algorithm = candidate.options.exchange.algorithm;
    if (algorithm != Algorithm::ring && algorithm != Algorithm::halving_doubling) return false;
    if (divided_layers(workload, candidate).empty() || workload.accumulate > 1) return false;
  }
  // More servers than half of the workers are better used as workers.
  if (candidate.servers() > 1 && candidate.servers() * 2 > candidate.workers) return false;
  return step_samples(workload, candidate) <= workload.samples;
}

double weight_bytes(const Workload& workload) {
  return static_cast<double>(workload.compute.elements()) * sizeof(float);
}

double worker_memory(const Workload& workload, const Candidate& candidate) {
  const double weights = weight_bytes(workload);
  const double pass = pass_of(workload, candidate).memory;
  const double least = (candidate.options.updates_at_servers() ? 2 : 3) * weights;
  // A worker that serves keeps its part of the weights, of momentum and of two sums.
  const bool serves = candidate.options.exchange.workers_serve() && candidate.workers > 1;
  return std::max(pass, least) + (serves ? 4 * weights / candidate.workers : 0);
}

double server_memory(const Workload& workload, const Candidate& candidate) {
  return candidate.servers() > 0 ? 4 * weight_bytes(workload) / candidate.servers() : 0;
}

}  // namespace

std::vector<Candidate> candidates(const SearchSpace& space, const ClusterProfile& cluster,
                                  const Workload& workload) {
  std::vector<int> workers = space.workers;
  std::vector<Exchange> exchanges = space.exchanges;
  std::vector<Sync> syncs = space.syncs;
  std::vector<Wire> wires = space.wires;
  if (workers.empty()) workers = usual_workers(total_slots(cluster));
  if (exchanges.empty()) exchanges = usual_exchanges(cluster);
  if (syncs.empty()) syncs = usual_syncs();
  if (wires.empty()) wires = {{Wire::Kind::f32, 0}, {Wire::Kind::bf16, 0}};
  std::vector<Split> splits = space.splits;
  if (splits.empty()) splits = {Split::none(), Split::columns()};
  std::erase_if(splits, [](const Split& split) { return split.cuts(); });
  std::vector<Candidate> all;
  for (const int n : workers) {
    if (n < 2) continue;
    if (n <= total_slots(cluster)) {
      for (Candidate& way : part_candidates(space, cluster, workload, n)) {
        all.push_back(std::move(way));
      }
    }
    for (const Exchange& exchange : exchanges) {
      for (const Sync& sync : syncs) {
        for (const Wire& wire : wires) {
          for (const Split& split : splits) {
            Candidate candidate;
            candidate.workers = n;
            candidate.options.exchange = exchange;
            candidate.options.sync = sync;
            candidate.options.wire = wire;
            candidate.options.split = split;
            candidate.options.bucket_mb = space.bucket_mb;
            candidate.options.update = default_update(exchange);
            if (!fits(cluster, candidate) || !makes_sense(candidate, workload)) continue;
            all.push_back(candidate);
          }
        }
      }
    }
  }
  return all;
}

std::string way_of(const Candidate& candidate) {
  if (candidate.workers == 1) return "alone";
  const strategy::Options& options = candidate.options;
  std::string way = to_string(options.exchange) + " " + to_string(options.sync);
  if (options.split.cuts()) {
    // Of one copy of the network no gradients cross.
    if (candidate.replicas() == 1) way.clear();
    const bool named = options.split.kind == Split::Kind::names;
    way +=
        fmt::format("{}{} x {}", way.empty() ? "" : " ",
                    named ? fmt::format("{} parts", options.split.parts) : to_string(options.split),
                    candidate.micro_batches);
    if (options.pipeline != strategy::Pipeline()) way += " " + to_string(options.pipeline);
    if (candidate.replicas() == 1) return way;
  }
  if (!candidate.options.wire.exact()) {
    way += " " + to_string(candidate.options.wire);
  }
  if (candidate.options.splits_columns()) way += " columns";
  if (candidate.options.bucket_mb > 0) {
    way += fmt::format(" buckets of {:g} MB", candidate.options.bucket_mb);
  }
  return way;
}

std::string effect_of(const Candidate& candidate) {
  return strategy::effect_of(candidate.options, candidate.workers);
}

std::string risk_of(const Workload& workload, const Candidate& candidate) {
  if (candidate.same_result_as_alone()) return "";
  const strategy::Sync& sync = candidate.options.sync;
  const int64_t batch = step_samples(workload, candidate);
  std::string risk;
  switch (sync.kind) {
    case Sync::Kind::split:
      return "gradients keep 8 bits of their 24: accuracy rarely suffers";
    case Sync::Kind::join:
    case Sync::Kind::backup:
      risk = fmt::format(
          "steps of {} samples instead of {}: raise --lr and add --warmup; it may need more epochs "
          "for the same accuracy",
          format_count(batch), format_count(workload.batch));
      break;
    case Sync::Kind::async:
    case Sync::Kind::ssp:
      risk = "gradients of older weights: often a lower accuracy, and a smaller --lr is needed";
      break;
    case Sync::Kind::local:
      risk = fmt::format("workers drift apart for {} steps: usually a slightly lower accuracy",
                         sync.number);
      break;
  }
  return candidate.options.wire.exact() ? risk : risk + "; gradients are rounded";
}

bool keeps_result(const SearchSpace& space, const Candidate& candidate) {
  if (candidate.workers == 1) return true;
  const bool could_split =
      space.syncs.empty() || std::any_of(space.syncs.begin(), space.syncs.end(),
                                         [](const Sync& sync) { return sync.splits_batch(); });
  const bool could_be_exact =
      space.wires.empty() || std::any_of(space.wires.begin(), space.wires.end(),
                                         [](const Wire& wire) { return wire.exact(); });
  return (candidate.options.sync.splits_batch() || !could_split) &&
         (candidate.options.wire.exact() || !could_be_exact);
}

double bound_seconds(const Workload& workload, const ClusterProfile& cluster,
                     const Candidate& candidate) {
  const double computing = computing_seconds(workload, cluster, candidate);
  if (candidate.workers == 1) return computing;
  const bool cuts = candidate.options.split.cuts();
  const double bytes =
      exchanged_elements(workload, candidate) * candidate.options.wire.bytes_per_element();
  // Hosts with several slots send less over their links: then only computing is certain.
  int hosts = 0;
  int placed = 0;
  for (const HostProfile& host : cluster.hosts) {
    if (placed >= candidate.team().ranks()) break;
    placed += host.slots;
    ++hosts;
  }
  if (hosts < candidate.team().ranks()) return computing;
  const collective::LinkSpeed link = link_of(cluster, candidate.team().ranks());
  if (cuts) return std::max(computing, part_wire_bytes(workload, candidate) / link.bytes_per_s);
  const auto n = static_cast<double>(candidate.workers);
  double wire = 2 * (n - 1) / n * bytes / link.bytes_per_s;
  const auto samples = static_cast<size_t>(samples_of_all(workload, candidate));
  for (const strategy::ComputeTimes::Dense& dense : divided_layers(workload, candidate)) {
    wire += bytes_by_columns(dense.shape, samples, candidate.workers) / link.bytes_per_s;
  }
  if (candidate.servers() > 0) {
    const double fastest = cluster.hosts[static_cast<size_t>(candidate.workers)].bandwidth;
    wire = std::max(1.0, n / candidate.servers()) * bytes / std::max(fastest, link.bytes_per_s);
    if (!candidate.options.sync.in_step()) wire *= (n - 1) / n;
  }
  if (const int64_t every = candidate.options.sync.average_every(); every > 0) {
    wire /= static_cast<double>(every);
  }
  return std::max(computing, wire);
}

double memory_of(const Workload& workload, const Candidate& candidate) {
  if (candidate.options.split.cuts()) {
    const std::vector<double> parts = part_memory(workload, candidate);
    return *std::max_element(parts.begin(), parts.end());
  }
  return std::max(worker_memory(workload, candidate), server_memory(workload, candidate));
}

bool fits_in_memory(const Workload& workload, const ClusterProfile& cluster,
                    const Candidate& candidate) {
  std::vector<double> workers;
  if (candidate.options.split.cuts()) {
    workers = part_memory(workload, candidate);
  } else {
    workers.push_back(worker_memory(workload, candidate));
  }
  const double server = server_memory(workload, candidate);
  int placed = 0;
  for (const HostProfile& host : cluster.hosts) {
    double needed = 0;
    for (int slot = 0; slot < host.slots && placed < candidate.team().ranks(); ++slot, ++placed) {
      const size_t part = static_cast<size_t>(placed) % workers.size();
      needed += placed < candidate.workers ? workers[part] : server;
    }
    if (host.memory > 0 && needed > host.memory) return false;
  }
  return true;
}

}  // namespace syrtos::planner
