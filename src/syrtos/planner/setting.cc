#include "syrtos/planner/setting.h"

#include <algorithm>
#include <cmath>

#include "syrtos/planner/candidates.h"

namespace syrtos::planner {

namespace {

std::vector<int> placement(const ClusterProfile& cluster, int ranks) {
  std::vector<int> host_of_rank;
  for (size_t host = 0; host < cluster.hosts.size(); ++host) {
    for (int slot = 0; slot < cluster.hosts[host].slots; ++slot) {
      if (static_cast<int>(host_of_rank.size()) < ranks) {
        host_of_rank.push_back(static_cast<int>(host));
      }
    }
  }
  return host_of_rank;
}

/// How many times as long each rank computes because it shares its host's cores with others.
std::vector<double> slower_by_rank(const Workload& workload, const ClusterProfile& cluster,
                                   const std::vector<int>& host_of_rank) {
  std::vector<int> ranks(cluster.hosts.size());
  for (const int host : host_of_rank) ++ranks[static_cast<size_t>(host)];
  std::vector<double> slower;
  for (const int host : host_of_rank) {
    const double cores = cluster.hosts[static_cast<size_t>(host)].cores;
    const double threads =
        static_cast<double>(workload.compute.threads * ranks[static_cast<size_t>(host)]);
    const bool shares = cores > 0 && !workload.replayed;
    slower.push_back(shares ? std::max(1.0, threads / cores) : 1);
  }
  return slower;
}

/// How unevenly TCP's streams share a link (SimOptions::uneven_sharing), as measured with 2 to 6
/// streams at 0.1 to 2.5 Gbit/s, of BBR and of CUBIC: the slower the link, the fewer packets of
/// each are on their way, and the longer one that is behind stays behind.
double unevenness(double bytes_per_s) {
  return std::clamp(0.35 * std::pow(125e6 / bytes_per_s, 0.25), 0.2, 0.65);
}

/// The tensors that workers divide between them.
std::vector<strategy::DividedTensor> divided_of(const Workload& workload,
                                                const Candidate& candidate) {
  std::vector<strategy::DividedTensor> divided;
  for (const strategy::ComputeTimes::Dense& dense : divided_layers(workload, candidate)) {
    const std::vector<size_t> columns =
        strategy::column_shares(dense.shape.outputs, candidate.workers);
    strategy::DividedTensor& tensor = divided.emplace_back();
    tensor.tensor = static_cast<int>(dense.tensor);
    for (const size_t share : columns) tensor.elements.push_back(share * dense.shape.inputs);
    if (dense.bias) divided.push_back({static_cast<int>(*dense.bias), columns});
  }
  std::sort(divided.begin(), divided.end(),
            [](const auto& a, const auto& b) { return a.tensor < b.tensor; });
  return divided;
}

/// The bytes that buckets of this candidate have at most.
size_t bucket_bytes(const Workload& workload, const ClusterProfile& cluster,
                    const Candidate& candidate) {
  return strategy::bucket_bytes(
      candidate.options.bucket_mb, link_of(cluster, candidate.workers), candidate.workers,
      static_cast<size_t>(exchanged_elements(workload, candidate)) * sizeof(float));
}

}  // namespace

int64_t accumulate_of(const Workload& workload, const Candidate& candidate) {
  return std::max<int64_t>(
      1, candidate.micro_batches > 0 ? candidate.micro_batches : workload.accumulate);
}

int64_t worker_batch(const Workload& workload, const Candidate& candidate) {
  return candidate.options.sync.worker_samples(workload.batch, candidate.replicas());
}

int64_t samples_of_all(const Workload& workload, const Candidate& candidate) {
  return candidate.options.sync.step_samples(workload.batch, candidate.replicas()) /
         accumulate_of(workload, candidate);
}

std::vector<size_t> worker_samples(const Workload& workload, const Candidate& candidate) {
  const int64_t all = samples_of_all(workload, candidate);
  const int64_t workers = candidate.workers;
  std::vector<size_t> samples;
  // As data::slice_of() has it.
  for (int64_t w = 0; w < workers; ++w) {
    samples.push_back(static_cast<size_t>(all * (w + 1) / workers - all * w / workers));
  }
  return samples;
}

std::vector<strategy::ComputeTimes::Dense> divided_layers(const Workload& workload,
                                                          const Candidate& candidate) {
  std::vector<strategy::ComputeTimes::Dense> layers;
  if (!candidate.options.splits_columns() || candidate.workers == 1) return layers;
  const auto samples = static_cast<size_t>(samples_of_all(workload, candidate));
  for (const strategy::ComputeTimes::Dense& dense : workload.compute.dense) {
    if (worth_columns(dense.shape, samples, candidate.workers)) layers.push_back(dense);
  }
  return layers;
}

double exchanged_elements(const Workload& workload, const Candidate& candidate) {
  auto elements = static_cast<double>(workload.compute.elements());
  for (const strategy::ComputeTimes::Dense& dense : divided_layers(workload, candidate)) {
    elements -= static_cast<double>(dense.shape.inputs * dense.shape.outputs);
    if (dense.bias) elements -= static_cast<double>(dense.shape.outputs);
  }
  return elements;
}

strategy::ComputeTimes::Pass pass_of(const Workload& workload, const Candidate& candidate) {
  return workload.compute.pass_of(worker_batch(workload, candidate),
                                  accumulate_of(workload, candidate));
}

int64_t step_samples(const Workload& workload, const Candidate& candidate) {
  const strategy::Sync& sync = candidate.options.sync;
  // Bounds are drawn from one worker on, who cannot be left out.
  return sync.step_samples(workload.batch,
                           std::max<int64_t>(1, candidate.replicas() - sync.left_out()));
}

int64_t steps_per_epoch(const Workload& workload, const Candidate& candidate) {
  const int64_t samples = step_samples(workload, candidate);
  return (workload.samples + samples - 1) / samples;
}

bool fits(const ClusterProfile& cluster, const Candidate& candidate) {
  int slots = 0;
  for (const HostProfile& host : cluster.hosts) slots += host.slots;
  return candidate.team().ranks() <= slots;
}

collective::LinkSpeed link_of(const ClusterProfile& cluster, int ranks) {
  const std::vector<int> hosts = placement(cluster, ranks);
  const HostProfile& first = cluster.hosts[0];
  if (hosts.back() == 0) return {first.memory_latency, first.memory_bandwidth};
  collective::LinkSpeed link{0, first.bandwidth};
  for (const int host : hosts) {
    const HostProfile& profile = cluster.hosts[static_cast<size_t>(host)];
    link.latency_s = std::max(link.latency_s, profile.latency);
    link.bytes_per_s = std::min(link.bytes_per_s, profile.bandwidth);
  }
  return link;
}

double computing_seconds(const Workload& workload, const ClusterProfile& cluster,
                         const Candidate& candidate) {
  const std::vector<int> hosts = placement(cluster, candidate.team().ranks());
  const std::vector<double> slower = slower_by_rank(workload, cluster, hosts);
  const auto on_host = [&](double seconds, size_t rank) {
    const double speed = cluster.hosts[static_cast<size_t>(hosts[rank])].speed;
    return seconds * slower[rank] / (workload.replayed ? 1 : speed);
  };
  if (candidate.options.split.cuts()) {
    const std::vector<double> busy = busy_seconds(workload, candidate);
    double slowest = 0;
    for (size_t rank = 0; rank < static_cast<size_t>(candidate.workers); ++rank) {
      slowest = std::max(slowest, on_host(busy[rank % busy.size()], rank));
    }
    return slowest;
  }
  const auto pass = pass_of(workload, candidate);
  const bool updates = !candidate.options.updates_at_servers();
  const auto elements = static_cast<double>(workload.compute.elements());
  const double exchanged = exchanged_elements(workload, candidate);
  // Of what is divided each worker updates its part.
  const double own = exchanged + (elements - exchanged) / candidate.workers;
  const double seconds =
      pass.load_s + pass.seconds + (updates ? workload.compute.update_s * own / elements : 0);
  std::vector<double> workers;
  for (size_t rank = 0; rank < static_cast<size_t>(candidate.workers); ++rank) {
    workers.push_back(on_host(seconds, rank));
  }
  std::sort(workers.begin(), workers.end());
  const auto left_out = static_cast<size_t>(candidate.options.sync.left_out());
  return workers[workers.size() - 1 - std::min(left_out, workers.size() - 1)];
}

world::SimOptions sim_options(const Setting& setting) {
  const ClusterProfile& cluster = setting.cluster;
  const int ranks = setting.team.ranks();
  world::SimOptions options;
  options.carry_data = false;
  options.seed = setting.seed;
  options.backplane = cluster.all_at_once;
  options.host_of_rank = placement(cluster, ranks);
  const int hosts = options.host_of_rank.back() + 1;
  // Streams that no longer end together make large simulations many times slower.
  constexpr double kMostEffort = 100e3;
  const bool small = effort_of(setting.workload, cluster, setting.candidate) <= kMostEffort;
  if (hosts > 1 && small) {
    options.uneven_sharing = cluster.uneven_sharing >= 0
                                 ? cluster.uneven_sharing
                                 : unevenness(link_of(cluster, ranks).bytes_per_s);
  }
  for (int i = 0; i < hosts; ++i) {
    const HostProfile& host = cluster.hosts[static_cast<size_t>(i)];
    world::SimHost& sim = options.hosts.emplace_back();
    sim.name = host.name;
    sim.bandwidth = host.bandwidth;
    sim.latency = host.latency;
    sim.core_seconds_per_byte = host.core_s_per_gb / 1e9;
    if (host.cores > 0 && !setting.workload.replayed) {
      sim.cores = host.cores;
    } else {
      sim.core_seconds_per_byte = 0;
    }
    sim.speed = setting.workload.replayed ? 1 : host.speed;
    sim.memory_bandwidth = host.memory_bandwidth;
    sim.memory_latency = host.memory_latency;
  }
  return options;
}

Setting setting_of(const Workload& workload, const ClusterProfile& cluster,
                   const Candidate& candidate, uint64_t seed) {
  Setting s{.workload = workload, .cluster = cluster, .candidate = candidate};
  s.team = candidate.team();
  s.options = candidate.options;
  s.options.link = link_of(cluster, candidate.workers);
  s.options.update_s_per_element =
      workload.compute.update_s / static_cast<double>(workload.compute.elements());
  s.layout.tensors = segments_of(workload.compute);
  s.layout.divided = divided_of(workload, candidate);
  s.layout.buckets = strategy::plan_buckets(
      s.layout.tensors, bucket_bytes(workload, cluster, candidate), s.layout.divided);
  s.pass = pass_of(workload, candidate);
  if (s.options.split.cuts()) s.parts = part_works(workload, candidate, s.options.link);
  s.seed = seed;
  const int ranks = s.team.ranks();
  const std::vector<int> host_of_rank = placement(cluster, ranks);
  s.slower = slower_by_rank(workload, cluster, host_of_rank);
  bool varies = false;
  for (const int host : host_of_rank) {
    const HostProfile& profile = cluster.hosts[static_cast<size_t>(host)];
    const double jitter = std::hypot(profile.jitter, workload.compute.jitter);
    s.jitter.push_back(workload.replayed ? 0 : jitter);
    varies = varies || s.jitter.back() > 0;
  }
  // The slowest of many workers varies little from step to step.
  const bool many = s.team.workers > 16;
  s.warm_up = many ? 1 : 2;
  // Streams that share links do so by chance: more steps are needed for a mean.
  const int more = candidate.options.exchange.uses_servers() && !many ? 2 : 0;
  const int few = (candidate.options.sync.in_step() ? 3 : 6) + more;
  s.steps = varies ? std::max(4, 64 / s.team.workers) : few;
  if (s.team.workers > 64) s.steps = candidate.options.sync.in_step() ? 2 : 4;
  if (s.team.workers > 256) s.steps = candidate.options.sync.in_step() ? 1 : 2;
  if (!s.parts.empty() && !varies) {  // nothing is left to chance
    s.warm_up = 1;
    s.steps = 2;
  }
  if (!candidate.options.sync.in_step()) {
    s.stagger = bound_seconds(workload, cluster, candidate);
    s.warm_up += 1;
  }
  if (const int64_t every = candidate.options.sync.average_every(); every > 0) {
    s.warm_up = every;
    s.steps = every * (s.steps > 3 ? 2 : 1);
  }
  return s;
}

namespace {

/// Of one all-reduce of a bucket by so many workers.
double messages_of(const Setting& setting, const strategy::Bucket& bucket, int workers) {
  if (workers == 1) return 0;
  const double rounds = 2 * std::ceil(std::log2(std::max(2.0, static_cast<double>(workers))));
  collective::Algorithm algorithm = setting.options.exchange.algorithm;
  if (algorithm == collective::Algorithm::automatic) {
    algorithm =
        collective::choose(workers, workers, bucket.count * sizeof(float), setting.options.link);
  }
  const bool ring = algorithm == collective::Algorithm::ring;
  const bool doubling = algorithm == collective::Algorithm::doubling;
  const double bytes = static_cast<double>(bucket.count) * setting.options.wire.bytes_per_element();
  const int slices = collective::slices_for(static_cast<size_t>(bytes), workers);
  return workers * slices * (ring ? 2.0 * (workers - 1) : doubling ? rounds / 2 : rounds);
}

/// What crosses between parts, and between the workers that have the same.
double messages_of_parts(const Setting& setting) {
  constexpr double kStage = 6;  // waited for, computed and left behind, it costs so many messages
  double messages = 0;
  for (const PartWork& part : setting.parts) {
    for (const strategy::Stage& stage : part.stages) {
      messages += setting.team.replicas() * (kStage + static_cast<double>(stage.leaves.size()));
    }
    for (const strategy::Bucket& bucket : part.layout.buckets) {
      messages += messages_of(setting, bucket, setting.team.replicas());
    }
  }
  return messages;
}

}  // namespace

double effort_of(const Workload& workload, const ClusterProfile& cluster,
                 const Candidate& candidate) {
  const Setting setting = setting_of(workload, cluster, candidate, 1);
  const auto workers = static_cast<double>(setting.team.workers);
  const double rounds = 2 * std::ceil(std::log2(std::max(2.0, workers)));
  double messages = workers * rounds / 2;  // the sums
  double beside = 1;                       // flows that share links
  if (!setting.parts.empty()) {
    messages += messages_of_parts(setting);
  } else if (setting.options.exchange.uses_servers()) {
    const int servers = setting.team.serving();
    const auto pieces = static_cast<double>(place_on_servers(setting.layout, servers).size());
    messages += 5 * pieces * workers;
    beside = workers * servers;
  } else {
    messages += 4 * workers * (workers - 1) * static_cast<double>(setting.layout.divided.size());
    for (const strategy::Bucket& bucket : setting.layout.buckets) {
      if (!bucket.divided) messages += messages_of(setting, bucket, setting.team.workers);
    }
    if (const int64_t every = setting.options.sync.average_every(); every > 0) {
      messages /= static_cast<double>(every);
    }
  }
  if (cluster.all_at_once > 0) beside = std::max(beside, workers);
  // Ranks that change partners are spread over more memory than caches hold.
  constexpr double kFlowsForTheCostOfAMessage = 20;
  constexpr double kRanksForTheCostOfAMessage = 100;
  const auto steps = static_cast<double>(setting.warm_up + setting.steps);
  return messages * steps *
         (1 + beside / kFlowsForTheCostOfAMessage + workers / kRanksForTheCostOfAMessage);
}

}  // namespace syrtos::planner
