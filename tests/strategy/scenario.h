#pragma once

// One seed makes one scenario: who trains what, how, and on which cluster.

#include <fmt/format.h>

#include <numeric>
#include <string>

#include "syrtos/base/error.h"
#include "syrtos/base/philox.h"
#include "syrtos/strategy/options.h"
#include "syrtos/world/sim/options.h"
#include "tests/strategy/toy.h"

namespace syrtos::strategy {

/// Random numbers that are the same everywhere.
class Dice {
 public:
  explicit Dice(uint64_t seed) : seed_(seed) {}

  double unit() {
    const auto words = philox({static_cast<uint32_t>(seed_), static_cast<uint32_t>(seed_ >> 32)},
                              {rolls_++, 0xD1CE, 0, 0});
    return words[0] * 0x1p-32;
  }
  double between(double low, double high) { return low + (high - low) * unit(); }
  int from_to(int low, int high) { return low + static_cast<int>(unit() * (high - low + 1)); }
  bool one_in(int times) { return from_to(1, times) == 1; }
  template <typename T>
  T pick(std::initializer_list<T> values) {
    return values.begin()[from_to(0, static_cast<int>(values.size()) - 1)];
  }

 private:
  uint64_t seed_;
  uint32_t rolls_ = 0;
};

struct Scenario {
  uint64_t seed = 0;
  Layout layout;
  optim::OptimizerOptions optimizer;
  Options options;
  Team team;
  int64_t first_step = 0;  ///< of a run that was resumed
  int steps = 1;
  double learning_rate = 0.05;
  double clip = 0;
  std::vector<double> weights;  ///< of each worker's share
  int idle = 0;                 ///< workers that have no samples in the last step
  world::SimOptions cluster;

  /// What ends the run too early.
  enum class Disaster { none, crash, cut };
  Disaster disaster = Disaster::none;
  world::Rank crashes = 0;
  std::vector<int> cut_off;  ///< hosts
  double moment = 0;         ///< of the disaster, as a part of the time that the run takes without

  double weight(world::Rank worker, int64_t step) const {
    return worker < idle && step == last_step() - 1 ? 0 : weights[static_cast<size_t>(worker)];
  }
  /// Those who had samples in the last step are lost.
  bool last_may_be_missing() const { return idle > 0 && disaster != Disaster::none; }
  int ranks() const { return team.ranks(); }
  int64_t last_step() const { return first_step + steps; }
  bool in_step() const { return options.sync.in_step(); }
  bool is(Sync::Kind kind) const { return options.sync.kind == kind; }
  bool exact() const { return options.wire.exact(); }
  int host(world::Rank rank) const { return cluster.host_of_rank[static_cast<size_t>(rank)]; }
};

inline Layout random_layout(Dice& dice) {
  std::vector<size_t> tensors(static_cast<size_t>(dice.from_to(1, 5)));
  for (size_t& elements : tensors) elements = dice.pick<size_t>({1, 3, 16, 33, 64, 100, 250});
  return toy_layout(tensors, dice.pick<size_t>({64, 400, 1000, 1000000}));
}

inline optim::OptimizerOptions random_optimizer(Dice& dice) {
  optim::OptimizerOptions optimizer;
  optimizer.method = dice.pick({optim::Method::sgd, optim::Method::momentum, optim::Method::adam});
  optimizer.momentum = 0.5;
  return optimizer;
}

/// Whatever can be said, also what makes no sense.
inline Options random_options(Dice& dice) {
  Options options;
  options.exchange = parse_exchange(
      dice.pick<std::string>({"allreduce", "allreduce:ring", "allreduce:halving-doubling",
                              "allreduce:doubling", "allreduce:tree", "allreduce:hierarchical",
                              "ps", "ps", "ps-sharded:2", "ps-sharded:3", "ps-colocated"}));
  options.sync =
      parse_sync(dice.pick<std::string>({"join", "join", "split", "async", "ssp:0", "ssp:1",
                                         "ssp:3", "backup:1", "backup:2", "local:1", "local:3"}));
  options.wire = parse_wire(
      dice.pick<std::string>({"f32", "f32", "f32", "bf16", "threshold:0.5", "threshold:3"}));
  options.update =
      parse_update(dice.pick<std::string>({"auto", "server", "worker"}), options.exchange);
  options.permits = dice.pick({0, 0, 1, 2});
  return options;
}

inline bool accepted(const Options& options, int workers, bool clips) {
  try {
    check(options, workers, 64, clips);
    return true;
  } catch (const RequestError&) {
    return false;
  }
}

inline world::SimHost random_host(Dice& dice) {
  world::SimHost host;
  host.bandwidth = dice.pick({1e6, 12.5e6, 125e6, 1.25e9});
  host.latency = dice.pick({0.0, 5e-6, 50e-6, 2e-3});
  host.memory_latency = dice.pick({0.0, 1e-6});
  host.speed = dice.pick({0.1, 0.5, 1.0, 1.0, 1.0, 2.0});
  host.jitter = dice.pick({0.0, 0.1, 0.5});
  if (dice.one_in(3)) {
    host.cores = dice.from_to(1, 4);
    host.core_seconds_per_byte = dice.pick({0.0, 1e-9, 1e-8});
  }
  return host;
}

/// Some hosts, but neither none nor all.
inline std::vector<int> some_hosts(Dice& dice, int hosts) {
  std::vector<int> some;
  for (int host = 0; host < hosts; ++host) {
    if (dice.one_in(2)) some.push_back(host);
  }
  if (some.empty()) some.push_back(dice.from_to(0, hosts - 1));
  if (static_cast<int>(some.size()) == hosts) some.pop_back();
  return some;
}

inline void add_troubles(Dice& dice, world::SimOptions& cluster) {
  world::SimFaults& faults = cluster.faults;
  faults.message_delay_max = dice.pick({0.0, 0.0, 1e-3, 2e-2});
  faults.loss = dice.pick({0.0, 0.0, 0.01, 0.05});
  faults.retransmit_after = dice.pick({0.01, 0.2});
  faults.slow_probability = dice.pick({0.0, 0.0, 0.05});
  const auto hosts = static_cast<int>(cluster.hosts.size());
  for (int cuts = hosts > 1 ? dice.pick({0, 0, 0, 1, 2}) : 0; cuts > 0; --cuts) {
    const double from = dice.between(0, 0.3);
    faults.partitions.push_back({some_hosts(dice, hosts), from, from + dice.between(0.001, 3.9)});
  }
}

inline world::SimOptions random_cluster(Dice& dice, int ranks) {
  world::SimOptions cluster;
  const int hosts = dice.one_in(2) ? ranks : dice.from_to(1, ranks);
  const world::SimHost one = random_host(dice);
  const bool alike = dice.one_in(2);
  for (int host = 0; host < hosts; ++host) {
    cluster.hosts.push_back(alike ? one : random_host(dice));
  }
  for (int rank = 0; rank < ranks; ++rank) {
    cluster.host_of_rank.push_back(hosts == ranks ? rank : dice.from_to(0, hosts - 1));
  }
  if (hosts > 2 && dice.one_in(4)) {
    cluster.switches.push_back({some_hosts(dice, hosts), dice.pick({1e6, 1e9}), 1e-4});
  }
  cluster.message_overhead_bytes = dice.pick({0.0, 64.0});
  add_troubles(dice, cluster);
  // So slow that the whole takes longer than any wait may.
  if (dice.one_in(12)) {
    cluster.faults.slow_probability = 0;
    for (world::SimHost& host : cluster.hosts) {
      host.cores = world::SimHost::kEnoughCores;
      host.speed = 1e-4;
      host.jitter = std::min(host.jitter, 0.1);
    }
  }
  cluster.time_max = 1e5;
  cluster.events_max = 5'000'000;
  return cluster;
}

inline void add_disaster(Dice& dice, Scenario& scenario) {
  using Disaster = Scenario::Disaster;
  const auto hosts = static_cast<int>(scenario.cluster.hosts.size());
  scenario.disaster =
      dice.pick({Disaster::none, Disaster::none, Disaster::crash, Disaster::crash, Disaster::cut});
  if (scenario.disaster == Disaster::cut && hosts == 1) scenario.disaster = Disaster::crash;
  scenario.moment = dice.between(0, 1.02);
  scenario.crashes = dice.from_to(0, scenario.ranks() - 1);
  if (hosts > 1) scenario.cut_off = some_hosts(dice, hosts);
}

inline Scenario make_scenario(uint64_t seed) {
  Dice dice(seed);
  Scenario scenario;
  scenario.seed = seed;
  scenario.layout = random_layout(dice);
  scenario.optimizer = random_optimizer(dice);
  scenario.team.workers = dice.from_to(1, 6);
  do {
    scenario.options = random_options(dice);
    scenario.clip = dice.pick({0.0, 0.0, 5.0});
  } while (!accepted(scenario.options, scenario.team.workers, scenario.clip > 0));
  const Options& options = scenario.options;
  scenario.team = team_of(options, scenario.team.workers);
  // Stale and rounded gradients lead plain descent to the goal, others astray.
  if (!scenario.in_step() || !scenario.exact()) {
    if (!(scenario.is(Sync::Kind::backup) && scenario.exact())) {
      scenario.optimizer.method = optim::Method::sgd;
    }
  }
  scenario.first_step = dice.pick({0, 0, 1000});
  scenario.steps = dice.from_to(1, 12);
  const bool shares = scenario.in_step() && scenario.team.workers > 1 && dice.one_in(3);
  for (int worker = 0; worker < scenario.team.workers; ++worker) {
    scenario.weights.push_back(shares ? dice.pick({0.5, 1.0, 1.5}) : 1.0);
  }
  scenario.cluster = random_cluster(dice, scenario.ranks());
  scenario.cluster.seed = seed;
  add_disaster(dice, scenario);
  if (!scenario.in_step() && dice.one_in(3)) {
    scenario.idle = dice.from_to(0, scenario.team.workers - 1);
  }
  return scenario;
}

inline std::string to_string(const Scenario& scenario) {
  const Options& options = scenario.options;
  const world::SimFaults& faults = scenario.cluster.faults;
  std::string disaster = "no disaster";
  if (scenario.disaster == Scenario::Disaster::crash) {
    disaster =
        fmt::format("rank {} crashes at {:.2f} of the run", scenario.crashes, scenario.moment);
  } else if (scenario.disaster == Scenario::Disaster::cut) {
    disaster = fmt::format("{} hosts cut off at {:.2f} of the run", scenario.cut_off.size(),
                           scenario.moment);
  }
  return fmt::format(
      "seed {}: {} workers, {} servers on {} hosts, {} {} {} update {} permits {} {} clip {}, {} "
      "idle, {} "
      "buckets of {} elements, {} steps from {}; delays {} loss {} slow {} short cuts {}; {}",
      scenario.seed, scenario.team.workers, scenario.team.servers, scenario.cluster.hosts.size(),
      to_string(options.exchange), to_string(options.sync), to_string(options.wire),
      to_string(options.update), options.permits, optim::to_string(scenario.optimizer.method),
      scenario.clip, scenario.idle, scenario.layout.buckets.size(), scenario.layout.elements(),
      scenario.steps, scenario.first_step, faults.message_delay_max, faults.loss,
      faults.slow_probability, faults.partitions.size(), disaster);
}

}  // namespace syrtos::strategy
