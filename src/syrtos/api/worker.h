#pragma once

#include "syrtos/api/train.h"
#include "syrtos/job/job.h"
#include "syrtos/train/trainer.h"

// What all ways of training have in common, for the other files of this folder.

namespace syrtos::api {

/// What worker 0's run is compared with afterwards: the plan, and what its machine can do at best,
/// which is measured once and remembered.
train::TrainerOptions trainer_options(const job::Job& job, const TrainRequest& request,
                                      const Surroundings& surroundings);

/// Worker 0 begins or goes on with the run's directory, and whoever wants to know is told.
void open_run(train::Trainer& trainer, const TrainRequest& request, const OnRun& on_run);

}  // namespace syrtos::api
