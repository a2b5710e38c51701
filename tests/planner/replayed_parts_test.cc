// Training in parts with replayed computing, in virtual time, against what a plan says of it.

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

#include "syrtos/graph/passes.h"
#include "syrtos/planner/part_work.h"
#include "syrtos/planner/simulate.h"
#include "tests/train/divisions.h"
#include "tests/train/simulated.h"

namespace syrtos::train {
namespace {

struct Way {
  int workers;
  const char* split;
  int64_t micro_batches;
  const char* pipeline = "1f1b";
};

void PrintTo(const Way& way, std::ostream* out) {
  *out << way.workers << " workers, " << way.split << " x " << way.micro_batches << " "
       << way.pipeline;
}

class ReplayedParts : public Simulated, public testing::WithParamInterface<Way> {};

TEST_P(ReplayedParts, TakeWhatThePlanSays) {
  constexpr int kSteps = 20;
  const Way& way = GetParam();
  JobRequest request = job_of("allreduce:ring", "split", way.workers);
  request.split = way.split;
  request.pipeline = way.pipeline;
  const int replicas = resolve(request, cpu_info(), "nowhere").replicas();
  request.accumulate = way.micro_batches;
  request.batch = 16 * way.micro_batches * replicas;
  request.samples = kSteps * request.batch;
  const Job job = resolve(request, cpu_info(), "nowhere");

  const std::vector<StepDivision> ranks = simulate(request, fast_cluster(way.workers));
  double measured = 0;
  for (const StepDivision& division : ranks) {
    measured = std::max(measured, division.training() / kSteps);
  }

  planner::Workload workload;
  workload.batch = request.batch;
  workload.samples = request.samples;
  workload.replayed = true;
  workload.compute = strategy::read_compute_times(times_file());
  nn::Model model = job.network.build(job.model_options(8));
  graph::recognise(model.graph);
  workload.network = std::make_shared<planner::NetworkGraph>(std::move(model.graph), model.loss, 8);
  planner::Candidate candidate{way.workers, job.strategy, way.micro_batches};
  planner::ClusterProfile cluster;
  cluster.uneven_sharing = 0;
  for (int host = 0; host < way.workers; ++host) {
    cluster.hosts.push_back({.bandwidth = 1e9, .latency = 10e-6});
  }
  const double planned = planner::simulate(workload, cluster, candidate).seconds;
  EXPECT_NEAR(measured, planned, 0.03 * planned);
  // Every kernel's time is in one of the parts.
  double computed = 0;
  for (const StepDivision& division : ranks) {
    computed += (division[Part::forward] + division[Part::backward]) / kSteps;
  }
  const double all = kPass * static_cast<double>(way.micro_batches) * job.replicas();
  EXPECT_NEAR(computed, all, 0.02 * all);
}

INSTANTIATE_TEST_SUITE_P(Ways, ReplayedParts,
                         testing::Values(Way{2, "layers:2", 4}, Way{3, "conv2,fc1", 6},
                                         Way{2, "layers:2", 4, "fill-drain"},
                                         Way{2, "layers:2", 4, "interleaved:2"},
                                         Way{4, "layers:2", 4}));

}  // namespace
}  // namespace syrtos::train
