#pragma once

#include <string>
#include <vector>

#include "syrtos/cli/train_request.h"
#include "syrtos/planner/plan.h"

namespace syrtos::cli {

/// What a plan is asked for, beside the job.
struct PlanRequest {
  std::string cluster;  ///< profile file, or "16 hosts, 10 Gbit/s, 50 us"
  std::string compute;  ///< file of computing times; empty: measured here
  std::string hosts;    ///< file
  std::string workers;  ///< "8" (up to) or "2,4,8"; empty: all that fit
  std::string exchanges;
  std::string syncs;
  std::string wires;
  double bucket_mb = 0;
  std::string goal = "time";
  double seconds = 1;  ///< to measure each batch size for
  bool what_if = false;
  bool replayed = false;
};

/// A plan and what it was made from.
struct Planned {
  planner::Workload workload;
  planner::ClusterProfile cluster;
  planner::Plan plan;
};

/// Measures what was not given, and plans. Says on stderr what it does when `talks`.
Planned plan_job(const PlanRequest& request, const job::JobRequest& job, const Context& context,
                 bool talks);

}  // namespace syrtos::cli
