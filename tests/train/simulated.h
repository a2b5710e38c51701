#pragma once

// Training in virtual time.

#include "syrtos/strategy/compute_times.h"
#include "syrtos/world/sim/sim.h"
#include "tests/train/divisions.h"
#include "tests/train/team.h"

namespace syrtos::train {

using trace::Part;
using trace::StepDivision;
using world::SimOptions;

/// Computing that takes 3 ms for each pass, a third of it forward, in virtual time: what a step
/// comes to is exact.
class Simulated : public Distributed {
 protected:
  static constexpr double kPass = 3e-3;
  static constexpr double kUpdate = 0.3e-3;

  JobRequest job_of(const char* exchange, const char* sync, int workers) {
    JobRequest job = small_job("run");
    job.workers = workers;
    job.exchange = exchange;
    job.sync = sync;
    job.epochs = 1;
    job.samples = 16 * 6 * workers;
    job.sample_seconds = 0;
    job.replay = times_file();
    return job;
  }

  std::string times_file() {
    const Job job = resolve(small_job("none"), cpu_info(), "nowhere");
    CompiledNetwork network(job.network, job.model_options(16), CompiledNetwork::Use::training);
    const graph::Program& program = network.training().program();
    strategy::ComputeTimes times;
    times.network = "lenet5";
    times.precision = "f32";
    times.threads = 1;
    times.update_s = kUpdate;
    for (const graph::ParameterSlot& slot : network.parameters().slots()) {
      times.tensors.push_back(slot.elements);
    }
    strategy::ComputeTimes::Pass& pass = times.passes.emplace_back();
    pass.batch = 16;
    pass.seconds = kPass;
    double forward = 0;
    for (const auto& item : program.items()) forward += item.phase == graph::Phase::forward ? 1 : 0;
    const double backward = static_cast<double>(program.items().size()) - forward;
    for (const auto& item : program.items()) {
      pass.items.push_back(item.phase == graph::Phase::forward ? kPass / 3 / forward
                                                               : kPass * 2 / 3 / backward);
    }
    for (const graph::ParameterSlot& slot : network.parameters().slots()) {
      times.names.push_back(slot.name);
    }
    std::map<std::string, size_t> layers;
    for (const graph::Node& node : network.model().graph.nodes()) {
      if (layers.emplace(node.name, times.layers.size()).second) times.layers.push_back(node.name);
    }
    pass.forward.assign(times.layers.size(), 0);
    pass.backward = pass.forward;
    for (size_t i = 0; i < program.items().size(); ++i) {
      const auto& item = program.items()[i];
      const auto layer = layers.find(item.layer);
      if (layer == layers.end()) continue;
      auto& seconds = item.phase == graph::Phase::forward ? pass.forward : pass.backward;
      seconds[layer->second] += pass.items[i];
    }
    pass.needed.assign(times.tensors.size(), 0);
    pass.ready.assign(times.tensors.size(), kPass);
    const std::string file = (directory_ / "times.json").string();
    strategy::write_compute_times(file, times);
    return file;
  }

  static std::vector<StepDivision> simulate(const JobRequest& job, SimOptions options) {
    const Job resolved = resolve(job, cpu_info(), "nowhere");
    const strategy::Team team = team_of(resolved);
    std::deque<Trainer> trainers;
    for (int worker = 0; worker < team.workers; ++worker) trainers.emplace_back(resolved, worker);
    trainers[0].begin();
    world::SimCluster cluster(std::move(options));
    Silent silent;
    std::vector<Outcome> outcomes(trainers.size());
    world::run_all(cluster, [&](World& world) -> Task<> {
      if (world.rank() >= team.workers) {
        return serve(world, server_job(resolved));
      }
      const auto rank = static_cast<size_t>(world.rank());
      return keep_result(trainers[rank].run(world, silent, [] { return false; }), outcomes[rank]);
    });
    std::vector<StepDivision> totals;
    for (const trace::RankDivision& rank : divisions_of(job)) {
      expect_no_gaps(rank);
      totals.push_back(total_of(rank));
    }
    return totals;
  }

  /// 1 GB/s and 10 us.
  static SimOptions fast_cluster(int hosts) { return world::uniform_cluster(hosts, 1e9, 10e-6); }
};

}  // namespace syrtos::train
