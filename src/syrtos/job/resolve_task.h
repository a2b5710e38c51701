#pragma once

#include "syrtos/job/job.h"

namespace syrtos::job {

/// What numbers beside samples are to be taken for, so that the loss can be had.
data::TargetKind target_kind(const JobRequest& request);

/// Decides what is learnt, when the data is there: task and outputs. Throws RequestError when the
/// loss does not fit the data.
void resolve_task(const JobRequest& request, Job& job);

}  // namespace syrtos::job
