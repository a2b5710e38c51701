#include "syrtos/cli/plan_options.h"

#include "syrtos/cli/status_line.h"

namespace syrtos::cli {

job::JobRequest planned_job(const TrainOptions& job, const PlanOptions& plan) {
  job::JobRequest request = read_job(job);
  if (!plan.compute.empty() && job.job_file.empty() && !job.sets("network")) {
    request.network = strategy::read_compute_times(plan.compute).network;
  }
  return request;
}

api::Planned make_plan(const PlanOptions& options, const job::JobRequest& job,
                       const Context& context, bool talks) {
  StatusLine status(talks ? stderr : nullptr);
  api::PlanRequest request = api::plan_request(options, job, context.cpu);
  request.progress = [&](const std::string& doing) { status.show(doing); };
  return api::plan(request, surroundings(context));
}

}  // namespace syrtos::cli
