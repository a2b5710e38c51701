#include "syrtos/planner/simulate.h"

#include <algorithm>
#include <cmath>

#include "syrtos/base/error.h"
#include "syrtos/base/philox.h"
#include "syrtos/collective/collective.h"
#include "syrtos/planner/candidates.h"
#include "syrtos/strategy/server.h"
#include "syrtos/world/sim/sim.h"
#include "syrtos/world/started.h"

namespace syrtos::planner {

using strategy::Floats;
using strategy::Options;
using strategy::Sync;
using world::Started;
using world::Task;
using world::World;

namespace {

/// A network's sizes and times in place of the network.
class SizedReplica final : public strategy::Replica {
 public:
  SizedReplica(const strategy::ComputeTimes& times, const strategy::ComputeTimes::Pass& pass,
               const strategy::Layout& layout)
      : times_(times), layout_(layout), stages_(stages_of(pass, layout)), now_(stages_) {}

  /// The next pass takes so many times as long as usual.
  void begin(double slowness) {
    began_ = true;
    for (size_t i = 0; i < stages_.size(); ++i) now_[i].seconds = stages_[i].seconds * slowness;
  }

  const strategy::Layout& layout() const override { return layout_; }
  const std::vector<strategy::Stage>& stages() const override { return now_; }
  void run(size_t) override {}
  /// Before the first step there is nothing to bring to the others: only steps are of interest.
  Floats weights() override { return {nullptr, began_ ? layout_.elements() : 0}; }
  Floats gradients() override { return {nullptr, layout_.elements()}; }
  Floats states() override { return {}; }
  std::vector<Floats> kept() override { return std::vector<Floats>(kept_); }
  void update(size_t, size_t, const optim::Hyper&) override {}
  double update_seconds(size_t count) const override {
    return times_.update_s * static_cast<double>(count) / static_cast<double>(times_.elements());
  }
  void weights_changed(size_t, size_t) override {}
  double gradient_norm() override { return 0; }

 private:
  const strategy::ComputeTimes& times_;
  const strategy::Layout& layout_;
  const std::vector<strategy::Stage> stages_;
  std::vector<strategy::Stage> now_;
  const size_t kept_ = optim::Optimizer({}, 0).slots().size();  // arenas of the optimiser
  bool began_ = false;
};

/// Everything the ranks of one simulation share.
struct Setting {
  const Workload& workload;
  const ClusterProfile& cluster;
  const Candidate& candidate;
  strategy::Team team = {};
  Options options = {};
  strategy::Layout layout = {};
  strategy::ComputeTimes::Pass pass = {};
  std::vector<double> slower = {};  ///< by rank: fewer cores than when it was measured
  std::vector<double> jitter = {};  ///< by rank
  uint64_t seed = 1;
  double stagger = 0;   ///< seconds over which workers that do not wait for each other begin
  int64_t warm_up = 0;  ///< steps
  int64_t steps = 0;    ///< that count, after them
};

/// What a worker saw.
struct Marks {
  double from = 0;
  double to = 0;
  int64_t advanced = 0;
  bool done = false;
};

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

/// Roughly normal, cut off at three standard deviations: the sum of twelve uniform ones.
double slowness(uint64_t seed, int rank, int64_t step, double jitter) {
  if (jitter == 0) return 1;
  double sum = -6;
  for (uint32_t part = 0; part < 3; ++part) {
    const Philox::Key key{static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)};
    for (const uint32_t word :
         philox(key, {static_cast<uint32_t>(rank), static_cast<uint32_t>(step), part, 77})) {
      sum += word * 0x1p-32;
    }
  }
  return std::max(0.1, 1 + jitter * std::clamp(sum, -3.0, 3.0));
}

world::SimOptions sim_options(const Setting& setting) {
  const ClusterProfile& cluster = setting.cluster;
  const int ranks = setting.team.workers + setting.team.servers;
  world::SimOptions options;
  options.carry_data = false;
  options.seed = setting.seed;
  options.backplane = cluster.all_at_once;
  options.host_of_rank = placement(cluster, ranks);
  const int hosts = options.host_of_rank.back() + 1;
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
  s.team = {.workers = candidate.workers, .servers = candidate.servers()};
  s.options = candidate.options;
  s.options.link = link_of(cluster, candidate.workers);
  s.options.update_s_per_element =
      workload.compute.update_s / static_cast<double>(workload.compute.elements());
  s.layout.tensors = segments_of(workload.compute);
  s.layout.buckets =
      strategy::plan_buckets(s.layout.tensors, bucket_bytes(workload, cluster, candidate));
  s.pass = workload.compute.pass_of(worker_batch(workload, candidate));
  s.seed = seed;
  const int ranks = s.team.workers + s.team.servers;
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
  s.steps = varies ? std::max(4, 64 / s.team.workers) : candidate.options.sync.in_step() ? 3 : 6;
  if (s.team.workers > 64) s.steps = candidate.options.sync.in_step() ? 2 : 4;
  if (s.team.workers > 256) s.steps = candidate.options.sync.in_step() ? 1 : 2;
  if (!candidate.options.sync.in_step()) {
    s.stagger = bound_seconds(workload, cluster, candidate);
    s.warm_up += 1;
  }
  if (candidate.options.sync.kind == Sync::Kind::local) {
    s.warm_up = candidate.options.sync.number;
    s.steps = candidate.options.sync.number * (s.steps > 3 ? 2 : 1);
  }
  return s;
}

/// The sums of a step's losses, which cross while the next step computes.
Task<> share(World& world, const collective::Group& workers, uint32_t round) {
  collective::Exchange exchange;
  exchange.algorithm = collective::Algorithm::doubling;
  exchange.tag = {world::Purpose::reduce, 0, round};
  exchange.priority = 1 << 20;
  co_await collective::all_reduce(world, workers, Floats{nullptr, 4}, exchange);
}

/// What train::Trainer does in the middle of an epoch.
Task<> work(World& world, const Setting& setting, Marks& marks) {
  const auto rank = static_cast<size_t>(world.rank());
  const collective::Group workers = collective::Group::of(world, setting.team.worker_ranks());
  SizedReplica replica(setting.workload.compute, setting.pass, setting.layout);
  const auto strategy = strategy::make_strategy(world, setting.team, setting.options, {}, replica);
  co_await strategy->begin();
  co_await collective::barrier(world, workers, {world::Purpose::control, 7, 0});
  // In step for ever, they would all push and then all pull: real ones soon are not.
  co_await world.sleep(setting.stagger * world.rank() / setting.team.workers);
  Started sums;
  int64_t position = 0;
  bool warm = false;
  for (int64_t step = 0; position < setting.warm_up + setting.steps; ++step) {
    if (!warm && position >= setting.warm_up) {
      warm = true;
      marks.from = world.now();
      marks.advanced = -position;
    }
    const double slow =
        setting.slower[rank] * slowness(setting.seed, world.rank(), step, setting.jitter[rank]);
    co_await world.compute(setting.pass.load_s * slow, {});
    replica.begin(slow);
    strategy::StepInfo info;
    info.step = position;
    const int64_t taken = co_await strategy->step(info);
    position += taken;
    if (setting.options.sync.in_step() && workers.size() > 1) {
      if (sums.valid()) co_await sums.join();
      sums = Started(world, share(world, workers, static_cast<uint32_t>(step)));
    }
  }
  marks.to = world.now();
  marks.advanced += position;
  co_await strategy->settle();
  if (sums.valid()) co_await sums.join();
  co_await collective::barrier(world, workers, {world::Purpose::control, 7, 1});
  marks.done = true;
}

Task<> serve(World& world, const Setting& setting) {
  strategy::Server server(world, setting.team, setting.options, {}, setting.layout,
                          setting.team.servers, world.rank() - setting.team.workers);
  co_await server.serve();
}

}  // namespace

double computing_seconds(const Workload& workload, const ClusterProfile& cluster,
                         const Candidate& candidate) {
  const auto pass = workload.compute.pass_of(worker_batch(workload, candidate));
  const bool updates = candidate.options.update == strategy::UpdateAt::worker;
  const double seconds = pass.load_s + pass.seconds + (updates ? workload.compute.update_s : 0);
  const std::vector<int> hosts = placement(cluster, candidate.workers + candidate.servers());
  const std::vector<double> slower = slower_by_rank(workload, cluster, hosts);
  std::vector<double> workers;
  for (size_t rank = 0; rank < static_cast<size_t>(candidate.workers); ++rank) {
    const double speed = cluster.hosts[static_cast<size_t>(hosts[rank])].speed;
    workers.push_back(seconds * slower[rank] / (workload.replayed ? 1 : speed));
  }
  std::sort(workers.begin(), workers.end());
  const Sync& sync = candidate.options.sync;
  const auto left_out = sync.kind == Sync::Kind::backup ? static_cast<size_t>(sync.number) : 0;
  return workers[workers.size() - 1 - std::min(left_out, workers.size() - 1)];
}

int64_t worker_batch(const Workload& workload, const Candidate& candidate) {
  if (candidate.options.sync.kind != Sync::Kind::split) return workload.batch;
  return (workload.batch + candidate.workers - 1) / candidate.workers;
}

int64_t step_samples(const Workload& workload, const Candidate& candidate) {
  if (candidate.options.sync.kind == Sync::Kind::split) return workload.batch;
  return workload.batch * candidate.workers;
}

int64_t steps_per_epoch(const Workload& workload, const Candidate& candidate) {
  const int64_t samples = step_samples(workload, candidate);
  return (workload.samples + samples - 1) / samples;
}

bool fits(const ClusterProfile& cluster, const Candidate& candidate) {
  int slots = 0;
  for (const HostProfile& host : cluster.hosts) slots += host.slots;
  return candidate.workers + candidate.servers() <= slots;
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

size_t bucket_bytes(const Workload& workload, const ClusterProfile& cluster,
                    const Candidate& candidate) {
  if (candidate.options.bucket_mb > 0) {
    return static_cast<size_t>(candidate.options.bucket_mb * 1e6);
  }
  const collective::LinkSpeed link = link_of(cluster, candidate.workers);
  return strategy::bucket_bytes(link.latency_s, link.bytes_per_s, candidate.workers,
                                workload.compute.elements() * sizeof(float));
}

StepCost simulate(const Workload& workload, const ClusterProfile& cluster,
                  const Candidate& candidate, uint64_t seed) {
  const Setting setting = setting_of(workload, cluster, candidate, seed);
  StepCost cost;
  cost.computing = computing_seconds(workload, cluster, candidate);
  world::SimCluster sim(sim_options(setting));
  std::vector<Marks> marks(static_cast<size_t>(setting.team.workers));
  const std::vector<std::exception_ptr> errors = sim.run([&](World& world) {
    world.set_deadline(1e8);
    return world.rank() < setting.team.workers
               ? work(world, setting, marks[static_cast<size_t>(world.rank())])
               : serve(world, setting);
  });
  for (size_t worker = 0; worker < marks.size(); ++worker) {
    const Marks& mark = marks[worker];
    if (!mark.done && errors[worker]) std::rethrow_exception(errors[worker]);
    SYRTOS_CHECK(mark.advanced > 0, "worker {} took no step", worker);
    const double seconds = (mark.to - mark.from) / static_cast<double>(mark.advanced);
    // Whoever is left out does not hold the others up.
    const bool fastest = setting.options.sync.kind == Sync::Kind::backup && worker > 0;
    cost.seconds = fastest ? std::min(cost.seconds, seconds) : std::max(cost.seconds, seconds);
  }
  // What began, and the weights of the first step, crossed too; it is little.
  const world::SimStatistics statistics = sim.statistics();
  const auto steps = static_cast<double>(setting.warm_up + setting.steps);
  for (size_t host = 0; host < statistics.hosts.size(); ++host) {
    const world::SimStatistics::Host& moved = statistics.hosts[host];
    const double bytes = std::max(moved.bytes_in, moved.bytes_out) / steps;
    cost.wire_bytes = std::max(cost.wire_bytes, bytes);
    cost.wire_seconds = std::max(cost.wire_seconds, bytes / cluster.hosts[host].bandwidth);
  }
  for (world::Rank rank = 0; rank < sim.size(); ++rank) {
    cost.messages += static_cast<double>(sim.world(rank).traffic().messages_sent) / steps;
  }
  return cost;
}

double effort_of(const Workload& workload, const ClusterProfile& cluster,
                 const Candidate& candidate) {
  const Setting setting = setting_of(workload, cluster, candidate, 1);
  const auto workers = static_cast<double>(setting.team.workers);
  double messages = 2 * workers;  // the sums
  double beside = 1;              // flows that share links
  if (setting.options.exchange.has_servers()) {
    const auto servers = setting.team.servers > 0 ? setting.team.servers : setting.team.workers;
    const auto pieces = static_cast<double>(place_on_servers(setting.layout, servers).size());
    messages += 5 * pieces * workers;
    beside = workers * servers;
  } else {
    const double rounds = 2 * std::ceil(std::log2(std::max(2.0, workers)));
    for (const strategy::Bucket& bucket : setting.layout.buckets) {
      collective::Algorithm algorithm = setting.options.exchange.algorithm;
      if (algorithm == collective::Algorithm::automatic) {
        algorithm = collective::choose(setting.team.workers, setting.team.workers,
                                       bucket.count * sizeof(float), setting.options.link);
      }
      const bool ring = algorithm == collective::Algorithm::ring;
      const double slices = static_cast<double>(bucket.count) * 4 / workers > 256 * 1024 ? 2 : 1;
      messages += workers * slices * (ring ? 2 * (workers - 1) : rounds);
    }
    if (setting.options.sync.kind == Sync::Kind::local) {
      messages /= static_cast<double>(setting.options.sync.number);
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
