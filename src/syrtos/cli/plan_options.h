#pragma once

#include "syrtos/api/plan_wishes.h"
#include "syrtos/cli/command.h"
#include "syrtos/cli/train_options.h"

namespace syrtos::cli {

using PlanOptions = api::PlanWishes;

/// The job that is planned: that of the computing times where no network was named.
job::JobRequest planned_job(const TrainOptions& job, const PlanOptions& plan);

/// Plans the job. Says on stderr what it does when `talks`. Throws RequestError.
api::Planned make_plan(const PlanOptions& options, const job::JobRequest& job,
                       const Context& context, bool talks);

}  // namespace syrtos::cli
