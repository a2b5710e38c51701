#include "syrtos/planner/simulate.h"

#include <algorithm>
#include <cmath>

#include "syrtos/base/error.h"
#include "syrtos/base/philox.h"
#include "syrtos/collective/collective.h"
#include "syrtos/planner/setting.h"
#include "syrtos/strategy/servers/server.h"
#include "syrtos/strategy/worker_loop.h"
#include "syrtos/world/control.h"
#include "syrtos/world/sim/sim.h"

namespace syrtos::planner {

using strategy::Floats;
using world::ControlItem;
using world::Task;
using world::World;

namespace {

/// A network's sizes and times in place of the network.
class SizedReplica final : public strategy::Replica {
 public:
  SizedReplica(const strategy::ComputeTimes& times, const strategy::Layout& layout,
               std::vector<strategy::Stage> stages)
      : times_(times), layout_(layout), stages_(std::move(stages)), now_(stages_) {}

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

/// What a worker saw.
struct Marks {
  double from = 0;
  double to = 0;
  int64_t advanced = 0;
  bool done = false;
};

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

/// Virtual time in place of batches and losses, as in the middle of an epoch.
class SimulatedSteps final : public strategy::StepHandler {
 public:
  SimulatedSteps(World& world, const Setting& setting, SizedReplica& replica, Marks& marks)
      : world_(world), setting_(setting), replica_(replica), marks_(marks) {}

  bool goes_on() const override { return position_ < setting_.warm_up + setting_.steps; }
  bool wants_to_stop() override { return false; }

  Task<> load() override {
    if (!warm_ && position_ >= setting_.warm_up) {
      warm_ = true;
      marks_.from = world_.now();
      marks_.advanced = -position_;
    }
    const auto rank = static_cast<size_t>(world_.rank());
    slow_ = setting_.slower[rank] *
            slowness(setting_.seed, world_.rank(), taken_++, setting_.jitter[rank]);
    // Images are loaded for the first part alone.
    const bool loads = setting_.team.part_of(world_.rank()) == 0;
    co_await world_.compute(loads ? setting_.pass.load_s * slow_ : 0, {});
  }

  strategy::StepInfo begin_pass() override {
    replica_.begin(slow_);
    strategy::StepInfo info;
    info.step = position_;
    return info;
  }

  Task<strategy::Sums> look() override { co_return strategy::Sums{}; }

  Task<> end_step(int64_t steps, const strategy::Sums&) override {
    position_ += steps;
    if (goes_on()) co_return;
    marks_.to = world_.now();
    marks_.advanced += position_;
  }

  Task<> stop() override { co_return; }

 private:
  World& world_;
  const Setting& setting_;
  SizedReplica& replica_;
  Marks& marks_;
  int64_t position_ = 0;
  int64_t taken_ = 0;  // steps of this worker
  double slow_ = 1;    // times as long as usual the step takes
  bool warm_ = false;
};

/// What a worker has, by its sizes and times.
SizedReplica replica_of(const Setting& setting, int worker) {
  const strategy::ComputeTimes& times = setting.workload.compute;
  if (!setting.parts.empty()) {
    const PartWork& part = setting.parts[static_cast<size_t>(setting.team.part_of(worker))];
    return {times, part.layout, part.stages};
  }
  const std::vector<strategy::MoveAt> moves =
      column_moves(times, setting.pass, setting.layout,
                   worker_samples(setting.workload, setting.candidate), worker);
  return {times, setting.layout, stages_of(setting.pass, setting.layout, moves)};
}

/// A worker from the beginning to the end.
Task<> work(World& world, const Setting& setting, Marks& marks) {
  const collective::Group workers = collective::Group::of(world, setting.team.worker_ranks());
  SizedReplica replica = replica_of(setting, workers.index_of(world.rank()));
  const auto strategy = strategy::make_strategy(world, setting.team, setting.options, {}, replica);
  co_await strategy->begin();
  co_await collective::barrier(world, workers,
                               world::control_tag(ControlItem::simulated_barrier, 0));
  // In step for ever, they would all push and then all pull: real ones soon are not.
  co_await world.sleep(setting.stagger * world.rank() / setting.team.workers);
  const strategy::WorldClock clock(world);
  const strategy::Clocks clocks(world, clock, false);  // there is one for all
  strategy::StepSums sums(world, setting.team, setting.options, strategy->meter(), clocks);
  SimulatedSteps steps(world, setting, replica, marks);
  co_await strategy::take_steps(*strategy, sums, steps);
  co_await strategy::settle(*strategy, sums);
  co_await collective::barrier(world, workers,
                               world::control_tag(ControlItem::simulated_barrier, 1));
  marks.done = true;
}

Task<> serve(World& world, const Setting& setting) {
  strategy::Server server(world, setting.team, setting.options, {}, setting.layout);
  co_await server.serve();
}

/// What a simulation left behind.
struct Ran {
  std::vector<Marks> marks;  ///< of each worker
  world::SimStatistics statistics;
  world::Traffic sent;  ///< by all ranks
};

Ran run(const Setting& setting) {
  world::SimCluster sim(sim_options(setting));
  Ran ran;
  ran.marks.resize(static_cast<size_t>(setting.team.workers));
  const std::vector<std::exception_ptr> errors = sim.run([&](World& world) {
    world.set_deadline(1e8);
    return world.rank() < setting.team.workers
               ? work(world, setting, ran.marks[static_cast<size_t>(world.rank())])
               : serve(world, setting);
  });
  for (size_t worker = 0; worker < ran.marks.size(); ++worker) {
    if (!ran.marks[worker].done && errors[worker]) std::rethrow_exception(errors[worker]);
  }
  ran.statistics = sim.statistics();
  for (world::Rank rank = 0; rank < sim.size(); ++rank) {
    const world::Traffic& traffic = sim.world(rank).traffic();
    ran.sent.messages_sent += traffic.messages_sent;
    ran.sent.bytes_sent += traffic.bytes_sent;
  }
  return ran;
}

}  // namespace

world::Traffic simulated_traffic(const Setting& setting) { return run(setting).sent; }

StepCost simulate(const Workload& workload, const ClusterProfile& cluster,
                  const Candidate& candidate, uint64_t seed) {
  const Setting setting = setting_of(workload, cluster, candidate, seed);
  StepCost cost;
  cost.computing = computing_seconds(workload, cluster, candidate);
  const Ran ran = run(setting);
  for (size_t worker = 0; worker < ran.marks.size(); ++worker) {
    const Marks& mark = ran.marks[worker];
    SYRTOS_CHECK(mark.advanced > 0, "worker {} took no step", worker);
    const double seconds = (mark.to - mark.from) / static_cast<double>(mark.advanced);
    // Whoever is left out does not hold the others up.
    const bool fastest = setting.options.sync.left_out() > 0 && worker > 0;
    cost.seconds = fastest ? std::min(cost.seconds, seconds) : std::max(cost.seconds, seconds);
  }
  // What began, and the weights of the first step, crossed too; it is little.
  const auto steps = static_cast<double>(setting.warm_up + setting.steps);
  for (size_t host = 0; host < ran.statistics.hosts.size(); ++host) {
    const world::SimStatistics::Host& moved = ran.statistics.hosts[host];
    const double bytes = std::max(moved.bytes_in, moved.bytes_out) / steps;
    cost.wire_bytes = std::max(cost.wire_bytes, bytes);
    cost.wire_seconds = std::max(cost.wire_seconds, bytes / cluster.hosts[host].bandwidth);
  }
  cost.messages = static_cast<double>(ran.sent.messages_sent) / steps;
  return cost;
}

}  // namespace syrtos::planner
