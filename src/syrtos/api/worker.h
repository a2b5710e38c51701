#pragma once

#include "syrtos/api/train.h"
#include "syrtos/job/job.h"
#include "syrtos/train/trainer.h"

// What all ways of training have in common, for the other files of this folder.

namespace syrtos::api {

/// A job, and how long it took until it was known.
struct TimedJob {
  job::Job job;
  train::Beginning beginning;
};
/// As job::resolve(). Throws RequestError.
TimedJob resolve_timed(const TrainRequest& request, const job::JobRequest& job,
                       const Surroundings& surroundings);

/// What worker 0's run is compared with afterwards: the plan, and what its machine can do at best,
/// which is measured once and remembered.
train::TrainerOptions trainer_options(const TimedJob& timed, const TrainRequest& request,
                                      const Surroundings& surroundings);

/// Worker 0 begins or goes on with the run's directory, and whoever wants to know is told.
void open_run(train::Trainer& trainer, const TrainRequest& request, const OnRun& on_run);

}  // namespace syrtos::api
