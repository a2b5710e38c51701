#pragma once

#include <functional>
#include <optional>
#include <string>

#include "syrtos/api/train.h"
#include "syrtos/planner/plan.h"

namespace syrtos::api {

/// What to plan, and for which cluster.
struct PlanRequest {
  job::JobRequest job = {};
  job::Own own = {};                                   ///< As in TrainRequest.
  planner::ClusterProfile cluster = {};                ///< See this_machine() for processes here.
  std::optional<strategy::ComputeTimes> compute = {};  ///< None: measured here.
  double seconds = 1;                                  ///< To measure each batch size for.
  bool replayed = false;  ///< Computing will be replayed, see JobRequest::replay.
  planner::SearchSpace space = {};
  planner::Goal goal = planner::Goal::result;
  bool what_if = false;
  std::function<void(const std::string& doing)> progress = {};
};

/// A plan and what it was made from.
struct Planned {
  planner::Workload workload;
  planner::ClusterProfile cluster;  ///< The best hosts first; a way uses the first of them.
  planner::Plan plan;
};

/// Measures what was not given, and plans: takes seconds to minutes. Throws RequestError.
Planned plan(const PlanRequest& request, const Surroundings& surroundings);

/// So many processes of this machine, as a cluster.
planner::ClusterProfile this_machine(int slots, const CpuInfo& cpu);

/// The job as one worker would do it.
job::JobRequest alone(job::JobRequest job);

/// The request with the way that a plan found put into it: all of it.
TrainRequest with_way(TrainRequest request, const planner::Prediction& way);

}  // namespace syrtos::api
