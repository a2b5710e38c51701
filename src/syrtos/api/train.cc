#include "syrtos/api/train.h"

#include <algorithm>

#include "syrtos/api/ensemble.h"
#include "syrtos/api/resume.h"
#include "syrtos/api/settle.h"
#include "syrtos/api/teacher.h"
#include "syrtos/api/worker.h"
#include "syrtos/base/clock.h"
#include "syrtos/base/parallel.h"
#include "syrtos/run/parts.h"
#include "syrtos/train/team/thread_team.h"

namespace syrtos::api {

namespace {

/// All workers are in this process, so they divide its cores.
job::JobRequest with_threads(job::JobRequest job, int cores) {
  if (job.threads == 0 && job.workers > 1) {
    job.threads = std::max<int64_t>(1, cores / job.workers);
  }
  return job;
}

}  // namespace

Trained train(const TrainRequest& request, const Surroundings& surroundings,
              train::TrainObserver& observer, const OnRun& on_run) {
  const job::JobRequest asked_for =
      with_threads(going_on(request.resume, request.job), surroundings.cpu.cores);
  TimedJob timed = resolve_timed(request, asked_for, surroundings);
  job::Job& job = timed.job;
  settle(asked_for, surroundings, job);
  load_teacher(surroundings, job);
  const double asked = timed.beginning.asked;
  const ThreadScope threads(job.threads);
  const train::TrainerOptions options = trainer_options(timed, request, surroundings);
  const bool alone = job.workers == 1 && !job.strategy.exchange.uses_servers();
  if (alone) {
    train::Trainer trainer(std::move(job), 0, options);
    open_run(trainer, request, on_run);
    const train::Outcome outcome = trainer.run_alone(observer, surroundings.should_stop);
    run::close_account(trainer.directory(), wall_clock() - asked);
    if (outcome.end != train::Outcome::End::interrupted) {
      make_ensemble(trainer.directory().path());
    }
    return {trainer.directory().path(), outcome};
  }
  train::ThreadTeam team(job, options);
  open_run(team.first(), request, on_run);
  const train::Outcome outcome = team.run(observer, surroundings.should_stop);
  run::close_account(team.first().directory(), wall_clock() - asked);
  if (outcome.end != train::Outcome::End::interrupted) {
    make_ensemble(team.first().directory().path());
  }
  return {team.first().directory().path(), outcome};
}

Trained train(const TrainRequest& request, const Surroundings& surroundings) {
  train::TrainObserver nobody;
  return train(request, surroundings, nobody);
}

}  // namespace syrtos::api
