#include "syrtos/api/worker.h"

#include "syrtos/api/run_network.h"
#include "syrtos/base/clock.h"
#include "syrtos/base/parallel.h"
#include "syrtos/train/measure/machine.h"

namespace syrtos::api {

TimedJob resolve_timed(const TrainRequest& request, const job::JobRequest& job,
                       const Surroundings& surroundings) {
  const double begun = wall_clock();
  TimedJob timed{
      .job = job::resolve(job, surroundings.cpu, surroundings.cache_home, own_of(request, job)),
      .beginning = {.asked = request.asked > 0 ? request.asked : begun}};
  timed.beginning.resolved = wall_clock();
  timed.beginning.data_s = request.data_s + timed.beginning.resolved - begun;
  return timed;
}

train::TrainerOptions trainer_options(const TimedJob& timed, const TrainRequest& request,
                                      const Surroundings& surroundings) {
  const ThreadScope threads(timed.job.threads);
  return {.planned_step_s = request.planned_step_s,
          .beginning = timed.beginning,
          .machine = train::machine_of(surroundings.cpu, surroundings.cache_home)};
}

void open_run(train::Trainer& trainer, const TrainRequest& request, const OnRun& on_run) {
  if (request.resume.empty()) {
    trainer.begin(request.claim);
  } else {
    trainer.resume(request.resume, request.claim);
  }
  if (on_run) on_run(trainer.directory().path());
}

}  // namespace syrtos::api
