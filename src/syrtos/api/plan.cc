#include "syrtos/api/plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "syrtos/api/settle.h"
#include "syrtos/base/error.h"
#include "syrtos/base/log.h"
#include "syrtos/base/memory.h"
#include "syrtos/job/networks.h"
#include "syrtos/job/resolve_split.h"
#include "syrtos/planner/host_order.h"
#include "syrtos/train/network/probe.h"

namespace syrtos::api {

using planner::ClusterProfile;
using planner::HostProfile;
using planner::SearchSpace;

namespace {

/// The batch sizes that workers would have: with split, halves of halves down to a worker's share.
std::vector<int64_t> batches_of(int64_t batch, const ClusterProfile& cluster,
                                const SearchSpace& space) {
  const bool splits = space.syncs.empty() ||
                      std::any_of(space.syncs.begin(), space.syncs.end(),
                                  [](const strategy::Sync& sync) { return sync.splits_batch(); });
  int64_t most = 0;
  for (const HostProfile& host : cluster.hosts) most += host.slots;
  if (!space.workers.empty()) {
    most = *std::max_element(space.workers.begin(), space.workers.end());
  }
  std::vector<int64_t> batches{batch};
  constexpr size_t kMost = 6;
  constexpr int64_t kMicroBatches = 4;  // of each part, where the network is in parts
  while (splits && batches.size() < kMost && batches.back() > 1 &&
         batches.back() * most * kMicroBatches > batch) {
    batches.push_back((batches.back() + 1) / 2);
  }
  return batches;
}

/// Times of another network would make a plan for that one. A name may go on with options
/// (resnet34:shortcut=padded). A plan needs the times alone: whose network is not known here is
/// planned all the same.
void check_same(const PlanRequest& request, const std::string& measured) {
  const auto name = [](const std::string& text) { return text.substr(0, text.find(':')); };
  const std::string& asked = request.job.network;
  if (!request.own.network && name(asked) == name(measured)) return;
  const std::string network =
      request.own.network ? request.own.network->name() : job::find_network(asked).name();
  if (name(network) == name(measured)) return;
  fail_request(
      "the computing times are of {}, but the job trains {}: measure it with 'syrtos probe compute "
      "--network {} --times FILE', or plan for --network {}",
      measured, network, network, measured);
}

/// Where the job's network can be cut.
std::shared_ptr<const planner::NetworkGraph> graph_of(const job::Job& job) {
  nn::Model model = job::model_to_cut(job);
  const int64_t samples = model.graph.type(model.images).shape[0];
  return std::make_shared<planner::NetworkGraph>(std::move(model.graph), model.loss, samples);
}

/// Of computing times whose network may not be known here.
std::shared_ptr<const planner::NetworkGraph> graph_if_known(const PlanRequest& request,
                                                            const job::JobRequest& job,
                                                            const Surroundings& surroundings) {
  try {
    return graph_of(job::resolve(job, surroundings.cpu, surroundings.cache_home, request.own));
  } catch (const RequestError& error) {
    log_info("plan: the network stays whole: {}", error.what());
    return nullptr;
  }
}

planner::Workload measure(const PlanRequest& request, const Surroundings& surroundings) {
  planner::Workload workload;
  workload.batch = request.job.batch;
  workload.accumulate = std::max<int64_t>(1, request.job.accumulate);
  workload.replayed = request.replayed;
  job::JobRequest job = alone(request.job);
  if (request.compute) {
    workload.compute = *request.compute;
    check_same(request, workload.compute.network);
    if (job.data == "random") {
      workload.samples = job.samples;
      workload.network = graph_if_known(request, job, surroundings);
      return workload;
    }
  }
  job::Job resolved = job::resolve(job, surroundings.cpu, surroundings.cache_home, request.own);
  workload.samples = resolved.data.train->size();
  if (!request.compute) settle(job, surroundings, resolved);
  workload.network = graph_of(resolved);
  if (request.compute) return workload;
  const std::vector<int64_t> batches =
      batches_of(std::max<int64_t>(1, request.job.batch / workload.accumulate), request.cluster,
                 request.space);
  if (request.progress) {
    request.progress(fmt::format("measuring {} with batches of {}", resolved.network.name(),
                                 fmt::join(batches, ", ")));
  }
  const train::ProbeOptions probe{.image = resolved.image,
                                  .classes = resolved.classes,
                                  .precision = resolved.precision,
                                  .threads = resolved.threads,
                                  .seconds = request.seconds};
  workload.compute = train::probe_times(resolved.network, probe, batches, surroundings.should_stop);
  return workload;
}

}  // namespace

ClusterProfile this_machine(int slots, const CpuInfo& cpu) {
  HostProfile host;
  host.name = "localhost";
  host.slots = slots;
  host.cores = cpu.cores;
  host.memory = static_cast<double>(free_memory());
  host.core_s_per_gb = 0.3;
  return {.hosts = {host}};
}

Planned plan(const PlanRequest& request, const Surroundings& surroundings) {
  if (request.job.batch < 1) {
    fail_request("--batch: expected 1 or more, found {}", request.job.batch);
  }
  Planned planned{.workload = measure(request, surroundings), .cluster = {}, .plan = {}};
  planned.cluster = planner::best_first(planned.workload, request.cluster);
  if (planned.workload.samples < request.job.batch) {
    fail_request("--samples: expected at least a batch ({}), found {}", request.job.batch,
                 planned.workload.samples);
  }
  if (surroundings.should_stop()) fail_run("interrupted while measuring");
  planner::PlanOptions options;
  options.space = request.space;
  options.goal = request.goal;
  options.what_if = request.what_if;
  options.should_stop = surroundings.should_stop;
  options.progress = [&](double share, const std::string& what) {
    if (request.progress)
      request.progress(fmt::format("planning {:3.0f} %: {}", 100 * share, what));
  };
  planned.plan = make_plan(planned.workload, planned.cluster, options);
  return planned;
}

job::JobRequest alone(job::JobRequest job) {
  const job::JobRequest plain;
  job.workers = 1;
  job.exchange = plain.exchange;
  job.sync = plain.sync;
  job.wire = plain.wire;
  job.update = plain.update;
  job.split = plain.split;
  job.pipeline = plain.pipeline;
  job.permits = plain.permits;
  job.bucket_mb = plain.bucket_mb;
  job.batch_norm = plain.batch_norm;
  return job;
}

TrainRequest with_way(TrainRequest request, const planner::Prediction& way) {
  if (way.candidate.workers == 1) request.job = alone(std::move(request.job));
  if (way.candidate.workers > 1) {
    job::apply(way.candidate.options, way.candidate.workers, request.job);
    if (way.candidate.micro_batches > 0) request.job.accumulate = way.candidate.micro_batches;
  }
  request.planned_step_s = way.step.seconds;
  return request;
}

}  // namespace syrtos::api
