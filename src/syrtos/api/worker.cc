#include "syrtos/api/worker.h"

#include "syrtos/base/parallel.h"
#include "syrtos/train/measure/machine.h"

namespace syrtos::api {

train::TrainerOptions trainer_options(const job::Job& job, const TrainRequest& request,
                                      const Surroundings& surroundings) {
  const ThreadScope threads(job.threads);
  return {.planned_step_s = request.planned_step_s,
          .machine = train::machine_of(surroundings.cpu, surroundings.cache_home)};
}

void open_run(train::Trainer& trainer, const TrainRequest& request, const OnRun& on_run) {
  if (request.resume.empty()) {
    trainer.begin();
  } else {
    trainer.resume(request.resume);
  }
  if (on_run) on_run(trainer.directory().path());
}

}  // namespace syrtos::api
