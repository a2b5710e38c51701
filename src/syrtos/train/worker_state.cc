#include "syrtos/train/worker_state.h"

#include <fmt/format.h>

#include "syrtos/strategy/undo.h"

namespace syrtos::train {

namespace {

data::LoaderOptions loader_options(const Job& job, int worker, bool images) {
  return {.batch = job.step_samples(),
          .seed = job.seed,
          .shard = job.shard_of(worker),
          .sharding = job.sharding,
          .remainder = job.remainder,
          .prefetch = job.prefetch,
          .targets = {job.task.mean, job.task.deviation},
          .images = images,
          .shares_of = job.task.mixed ? job.classes : 0,
          .taught = job.task.has_teacher(),
          .teacher = images ? job.teacher : nullptr};
}

}  // namespace

WorkerState::WorkerState(Job resolved, int number, TrainerOptions beside, const WorkerState* shared)
    : job(std::move(resolved)),
      worker(number),
      options(std::move(beside)),
      learner(job, number, options, shared != nullptr ? &shared->learner : nullptr),
      training_transform(job.data.train->info(), job.image, job.normalization, job.augment,
                         job.precision.dtype),
      test_transform(job.data.test->info(), job.image, job.normalization, {}, job.precision.dtype),
      loader(*job.data.train, training_transform,
             loader_options(job, number, learner.network().has_images())),
      course(job, number),
      watch(job::watch_of(job.early_stop)) {
  require_memory(memory_bytes(),
                 fmt::format("{} with a batch of {}", job.network.name(), job.batch),
                 options.processes);
}

int64_t WorkerState::memory_bytes() const {
  const bool goes_back = job.workers > 1 && job.strategy.goes_back();
  const auto weights = static_cast<int64_t>(learner.network().parameters().weights().size());
  const auto kept = static_cast<int64_t>(learner.kept().size());
  return learner.bytes() + loader.bytes() + (goes_back ? strategy::Undo::bytes(weights, kept) : 0);
}

void WorkerState::go_to(const Position& position) {
  course.go_to(position);
  watch.restore(position.best, position.waited);
}

void WorkerState::mend_metrics() {
  if (!to_mend) return;
  run::rewind_metrics(*directory, to_mend->kept);
  run::append_missing(*directory, to_mend->epochs, to_mend->step);
  to_mend.reset();
}

void WorkerState::save() {
  save_snapshot(*directory, job, learner.tensors(), others, course.position());
}

}  // namespace syrtos::train
