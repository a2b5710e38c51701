#include "syrtos/planner/simulate.h"

#include <algorithm>
#include <cmath>

#include "syrtos/base/error.h"
#include "syrtos/base/philox.h"
#include "syrtos/collective/collective.h"
#include "syrtos/planner/setting.h"
#include "syrtos/strategy/servers/server.h"
#include "syrtos/world/control.h"
#include "syrtos/world/sim/sim.h"
#include "syrtos/world/started.h"

namespace syrtos::planner {

using strategy::Floats;
using world::ControlItem;
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

/// The sums of a step's losses, which cross while the next step computes.
Task<> share(World& world, const collective::Group& workers, uint32_t round) {
  collective::ReduceOptions options;
  options.algorithm = collective::Algorithm::doubling;
  options.tag = {world::Purpose::reduce, 0, round};
  options.priority = 1 << 20;
  co_await collective::all_reduce(world, workers, Floats{nullptr, 4}, options);
}

/// What train::Trainer does in the middle of an epoch.
Task<> work(World& world, const Setting& setting, Marks& marks) {
  const auto rank = static_cast<size_t>(world.rank());
  const collective::Group workers = collective::Group::of(world, setting.team.worker_ranks());
  SizedReplica replica(setting.workload.compute, setting.pass, setting.layout);
  const auto strategy = strategy::make_strategy(world, setting.team, setting.options, {}, replica);
  co_await strategy->begin();
  co_await collective::barrier(world, workers,
                               world::control_tag(ControlItem::simulated_barrier, 0));
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
  co_await collective::barrier(world, workers,
                               world::control_tag(ControlItem::simulated_barrier, 1));
  marks.done = true;
}

Task<> serve(World& world, const Setting& setting) {
  strategy::Server server(world, setting.team, setting.options, {}, setting.layout);
  co_await server.serve();
}

}  // namespace

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
    const bool fastest = setting.options.sync.left_out() > 0 && worker > 0;
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

}  // namespace syrtos::planner
