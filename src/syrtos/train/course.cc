#include "syrtos/train/course.h"

#include <algorithm>

namespace syrtos::train {

Course::Course(const Job& job, int worker)
    : job_(job), shard_(job.shard_of(worker)), steps_per_epoch_(job.steps_per_epoch()) {
  go_to({});
}

void Course::go_to(const Position& position) {
  position_ = position;
  const int64_t epochs_after = job_.epochs - position_.epoch - 1;
  total_steps_ =
      position_.step + (epochs_after < 0 ? 0 : steps_left() + epochs_after * steps_per_epoch_);
  if (job_.steps > 0) total_steps_ = std::min(total_steps_, job_.steps);
  schedule_ = job_.schedule_of(total_steps_);
  if (position_.rate > 0) schedule_.rate = position_.rate;
  learning_rate_ = optim::learning_rate(schedule_, std::max<int64_t>(0, position_.step - 1));
  // At the end of the run: it was stopped when worker 0 had taken its last step and others had not.
  position_.unmeasured = epoch_is_complete() || (position_.unmeasured && is_over());
}

int64_t Course::steps_left() const {
  return data::steps_left(job_.data.train->size(), position_.used, job_.step_samples(),
                          job_.remainder);
}

void Course::begin_step() { learning_rate_ = optim::learning_rate(schedule_, position_.step); }

void Course::set_rate(double rate) {
  position_.rate = rate;
  schedule_.rate = rate;
}

int64_t Course::samples_of(const data::Slice& slice) const {
  return samples_of(slice, position_.used);
}

int64_t Course::samples_of(const data::Slice& slice, int64_t used) const {
  return job_.remainder == data::Remainder::pad ? job_.step_samples() : slice.used - used;
}

Course::Taken Course::advance(data::Slice slice, int64_t steps) {
  Taken taken{1, samples_of(slice)};
  while (taken.steps < steps && !slice.last) {
    const int64_t before = slice.used;
    slice = data::slice_of(job_.data.train->size(), slice.used, job_.step_samples(), shard_,
                           job_.remainder);
    taken.samples += samples_of(slice, before);
    ++taken.steps;
  }
  position_.step += taken.steps;
  position_.updates += taken.steps;
  position_.used = slice.used;
  return taken;
}

void Course::set_sums(const Sums& sums) {
  position_.loss_sum = sums.loss;
  position_.score_sum = sums.score;
  position_.samples = sums.samples;
}

void Course::add(const Sums& sums) {
  Sums all = this->sums();
  set_sums(all += sums);
}

void Course::note_updates(int64_t updates) {
  position_.updates = std::max(position_.updates, updates);
}

void Course::end_epoch(const Sums& sums, const optim::EarlyStopping& watch) {
  if (epoch_is_complete()) {
    position_ = {.step = position_.step,
                 .updates = position_.updates,
                 .epoch = position_.epoch + 1,
                 .rate = position_.rate};
  } else {
    set_sums(sums);
    position_.unmeasured = false;
  }
  position_.best = watch.best();
  position_.waited = watch.waited();
}

}  // namespace syrtos::train
