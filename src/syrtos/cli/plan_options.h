#pragma once

#include <string>

#include "syrtos/api/plan.h"
#include "syrtos/cli/command.h"
#include "syrtos/cli/train_options.h"

namespace syrtos::cli {

/// What a plan is asked for beside the job, as it was written.
struct PlanOptions {
  std::string cluster;  ///< profile file, or "16 hosts, 10 Gbit/s, 50 us"
  std::string compute;  ///< file of computing times; empty: measured here
  std::string hosts;    ///< file
  std::string workers;  ///< "8" (up to) or "2,4,8"; empty: all that fit
  std::string exchanges;
  std::string syncs;
  std::string wires;
  double bucket_mb = 0;
  std::string goal = "result";
  double seconds = 1;  ///< to measure each batch size for
  bool what_if = false;
  bool replayed = false;
};

/// The job that is planned: that of the computing times where no network was named.
job::JobRequest planned_job(const TrainOptions& job, const PlanOptions& plan);

/// Plans the job. Says on stderr what it does when `talks`. Throws RequestError.
api::Planned make_plan(const PlanOptions& options, const job::JobRequest& job,
                       const Context& context, bool talks);

}  // namespace syrtos::cli
