// The simulation runs the worker loop of training: what crosses in a step is the same.

#include <gtest/gtest.h>

#include <deque>

#include "syrtos/graph/columns.h"
#include "syrtos/graph/passes.h"
#include "syrtos/planner/setting.h"
#include "tests/train/team.h"

namespace syrtos::planner {
namespace {

using job::Job;
using job::JobRequest;
using world::Message;
using world::Purpose;
using world::Task;
using world::Traffic;
using world::World;

/// Counts what a rank sends to others: all but texts, whose length depends on what they say.
class Counter final : public world::MessageWatcher {
 public:
  Counter(world::Rank rank, Traffic& sum) : rank_(rank), sum_(sum) {}

  void started(Message& message) override {
    if (message.direction != Message::Direction::send || message.peer == rank_) return;
    if (message.tag.purpose == Purpose::control || message.tag.purpose == Purpose::news) return;
    ++sum_.messages_sent;
    sum_.bytes_sent += message.bytes();
  }
  void ended(const Message&) override {}

 private:
  const world::Rank rank_;
  Traffic& sum_;
};

struct Way {
  const char* exchange;
  const char* sync;
  const char* split = "none";
  int workers = 3;
  const char* pipeline = "1f1b";
  int64_t accumulate = 1;
};

class RealRun : public train::SmallJobs, public testing::WithParamInterface<Way> {
 protected:
  static constexpr double kBucketMb = 0.05;  // more than one bucket, the same ones everywhere

  JobRequest job_of(int64_t steps) const {
    JobRequest job = small_job("run" + std::to_string(steps));
    job.workers = GetParam().workers;
    job.exchange = GetParam().exchange;
    job.sync = GetParam().sync;
    job.split = GetParam().split;
    job.pipeline = GetParam().pipeline;
    job.accumulate = GetParam().accumulate;
    job.bucket_mb = kBucketMb;
    job.samples = 16 * GetParam().workers * 20;
    job.epochs = 1;
    job.steps = steps;
    job.sample_seconds = 0;
    return job;
  }

  Traffic train(int64_t steps) const {
    const Job job = resolve(job_of(steps), cpu_info(), "nowhere");
    const strategy::Team team = train::team_of(job);
    world::LocalCluster cluster(team.workers + team.servers);
    Traffic sent;
    std::deque<Counter> counters;
    for (world::Rank rank = 0; rank < cluster.size(); ++rank) {
      cluster.world(rank).watch_messages(&counters.emplace_back(rank, sent));
    }
    std::deque<train::Trainer> trainers;
    for (int worker = 0; worker < team.workers; ++worker) trainers.emplace_back(job, worker);
    trainers[0].begin();
    train::Silent silent;
    std::vector<train::Outcome> outcomes(trainers.size());
    world::run_all(cluster, [&](World& world) -> Task<> {
      if (world.rank() >= team.workers) return train::serve(world, train::server_job(job));
      const auto rank = static_cast<size_t>(world.rank());
      return keep_result(trainers[rank].run(world, silent, [] { return false; }), outcomes[rank]);
    });
    EXPECT_EQ(outcomes[0].position.step, steps);
    return sent;
  }

  /// The same network, by its sizes.
  Traffic simulate(int64_t steps) const {
    const Job job = resolve(job_of(steps), cpu_info(), "nowhere");
    const train::CompiledNetwork network(job.network, job.model_options(16),
                                         train::CompiledNetwork::Use::training);
    Workload workload;
    workload.batch = 16;
    workload.samples = job.data.train->size();
    for (const graph::ParameterSlot& slot : network.parameters().slots()) {
      workload.compute.tensors.push_back(slot.elements);
      workload.compute.names.push_back(slot.name);
    }
    graph::Graph graph = network.model().graph;
    for (const graph::DenseLayer& layer : graph::dense_layers(graph)) {
      const graph::ParameterSlot* slot = network.parameters().find(layer.weight);
      const graph::ParameterSlot* bias = network.parameters().find(layer.bias);
      workload.compute.dense.push_back(
          {static_cast<size_t>(slot - network.parameters().slots().data()),
           {static_cast<size_t>(layer.inputs), static_cast<size_t>(layer.outputs), 4},
           static_cast<size_t>(bias - network.parameters().slots().data())});
    }
    strategy::ComputeTimes::Pass& pass = workload.compute.passes.emplace_back();
    pass.batch = 16;
    pass.seconds = 0.01;
    pass.needed.assign(workload.compute.tensors.size(), 0);
    pass.ready.assign(workload.compute.tensors.size(), 0.01);
    nn::Model model = job.network.build(job.model_options(8));
    graph::recognise(model.graph);
    workload.network = std::make_shared<NetworkGraph>(std::move(model.graph), model.loss, 8);
    workload.accumulate = GetParam().accumulate;
    const Candidate candidate{GetParam().workers, job.strategy};
    ClusterProfile cluster;
    cluster.hosts.resize(static_cast<size_t>(candidate.workers + candidate.servers()));
    Setting setting = setting_of(workload, cluster, candidate, 1);
    setting.warm_up = 0;
    setting.steps = steps;
    return simulated_traffic(setting);
  }
};

TEST_P(RealRun, SendsInAStepWhatTheSimulationSends) {
  // Beginning and end of a run are no part of a step.
  const Traffic few = train(3);
  const Traffic many = train(8);
  const Traffic few_simulated = simulate(3);
  const Traffic many_simulated = simulate(8);
  EXPECT_GT(many.messages_sent, few.messages_sent);
  EXPECT_EQ(many.messages_sent - few.messages_sent,
            many_simulated.messages_sent - few_simulated.messages_sent);
  EXPECT_EQ(many.bytes_sent - few.bytes_sent, many_simulated.bytes_sent - few_simulated.bytes_sent);
}

INSTANTIATE_TEST_SUITE_P(
    Ways, RealRun,
    testing::Values(Way{"allreduce:ring", "join"}, Way{"allreduce:halving-doubling", "join"},
                    Way{"allreduce:ring", "split"}, Way{"ps", "join"}, Way{"ps-sharded:2", "join"},
                    Way{"ps-colocated", "join"}, Way{"allreduce:ring", "join", "columns"},
                    Way{"allreduce:ring", "split", "columns"}, Way{"ps", "async"},
                    Way{"ps-sharded:2", "async"}, Way{"ps-colocated", "async"}));

INSTANTIATE_TEST_SUITE_P(
    Parts, RealRun,
    testing::Values(Way{"allreduce:ring", "join", "layers:3", 3, "1f1b", 4},
                    Way{"allreduce:ring", "join", "layers:3", 3, "fill-drain", 2},
                    Way{"allreduce:ring", "join", "layers:2", 2, "interleaved:2", 4},
                    Way{"allreduce:ring", "split", "layers:2", 4, "1f1b", 4},
                    Way{"allreduce:halving-doubling", "join", "layers:2", 6, "1f1b", 2},
                    Way{"allreduce:ring", "join", "conv2,fc2", 3, "1f1b", 4}));

}  // namespace
}  // namespace syrtos::planner
