// One step of a worker: its batch, the pass, what it came to and where the run is then.

#include <cmath>

#include "syrtos/base/error.h"
#include "syrtos/train/evaluate.h"
#include "syrtos/train/trainer.h"

namespace syrtos::train {

Task<> Trainer::train_step(World& world, bool wants_to_stop) {
  if (trace_) trace_->begin_step(position_.step + 1, batch_.ready);
  {
    const Meter::Doing loads(team_->meter(), Part::load);
    // A batch of another size may need a program that does not exist yet: not on this thread.
    if (loader_.ready(batch_.slice.count)) {
      load_batch();
    } else {
      co_await world.compute(0, [this] { load_batch(); });
    }
  }
  learning_rate_ = optim::learning_rate(schedule_, position_.step);
  const int64_t samples = batch_.slice.count;
  const int64_t of_all = samples_of(batch_.slice, position_.used);
  team_->replica().begin(samples, {.seed = job_.seed,
                                   .step = position_.step,
                                   .first_sample = batch_.slice.first - position_.used});
  strategy::StepInfo info;
  info.step = position_.step;
  info.weight = static_cast<double>(samples * job_.workers) / static_cast<double>(of_all);
  info.hyper = {.learning_rate = learning_rate_,
                .weight_decay = job_.weight_decay,
                .step = position_.updates};
  info.clip = job_.clip;
  const int64_t steps = co_await team_->strategy().step(info);
  look_at_loss();
  if (!std::isfinite(loss_)) co_await world.compute(0, [this] { fail_of_loss(); });
  const Sums sums{static_cast<double>(loss_) * static_cast<double>(samples), correct_, samples};
  if (team_->alone() || !team_->in_step()) {
    add(sums);
  } else {
    co_await team_->share(sums, wants_to_stop);  // waits for the sums of the step before
    add(team_->take_sums());
  }
  advance(steps);
  if (lookahead_ && lookahead_->due(position_.step)) co_await look_ahead(world);
  note_step();
}

void Trainer::load_batch() {
  batch_ = loader_.next();
  SYRTOS_CHECK(batch_.epoch == position_.epoch, "{} {}", batch_.epoch, position_.epoch);
  if (batch_.slice.count > 0) network_.training(batch_.slice.count).use(batch_);
}

void Trainer::look_at_loss() {
  if (batch_.slice.count == 0) {
    loss_ = 0;
    correct_ = 0;
    return;
  }
  NetworkProgram& training = network_.training(batch_.slice.count);
  loss_ = team_->replica().replays() ? 0 : training.loss();
  correct_ = count_correct(training.logits(), batch_.labels);
}

/// Looks for the layer that is to blame.
void Trainer::fail_of_loss() {
  NetworkProgram& training = network_.training(batch_.slice.count);
  const ops::Step step{.seed = job_.seed, .step = position_.step};
  const graph::Program::Item* item = training.program().find_non_finite(step);
  const std::string where =
      item == nullptr
          ? "no single layer is to blame"
          : fmt::format("first non-finite value after layer {} ({})", item->layer, item->operation);
  fail_run("loss is {} at step {} (epoch {}): {}; try a smaller --lr (now {}) or --clip 1",
           std::isnan(loss_) ? "nan" : "infinite", position_.step + 1, position_.epoch + 1, where,
           learning_rate_);
}

void Trainer::add(const Sums& sums) {
  position_.loss_sum += sums.loss;
  position_.correct += sums.correct;
  position_.samples += sums.samples;
}

void Trainer::set_sums(const Sums& sums) {
  position_.loss_sum = sums.loss;
  position_.correct = sums.correct;
  position_.samples = sums.samples;
}

/// Of all workers in a step that began after `used`.
int64_t Trainer::samples_of(const data::Slice& slice, int64_t used) const {
  return job_.remainder == data::Remainder::pad ? job_.step_samples() : slice.used - used;
}

/// More than one step: a worker that was too slow leaves out what the others have done.
void Trainer::advance(int64_t steps) {
  data::Slice slice = batch_.slice;
  int64_t done = 1;
  int64_t samples = samples_of(slice, position_.used);
  while (done < steps && !slice.last) {
    const int64_t before = slice.used;
    slice = data::slice_of(job_.data.train->size(), slice.used, job_.step_samples(),
                           {worker_, job_.workers}, job_.remainder);
    samples += samples_of(slice, before);
    ++done;
  }
  if (!team_->in_step()) {
    samples = std::llround(team_->strategy().counted() * static_cast<double>(batch_.slice.count));
  }
  epoch_samples_ += samples;
  position_.step += done;
  position_.updates += done;
  position_.used = slice.used;
  epoch_complete_ = slice.last;
  if (done == 1) return;
  if (epoch_complete_) {
    loader_.seek(position_.epoch + 1, 0);
  } else {
    loader_.seek(position_.epoch, position_.used);
  }
}

Task<> Trainer::look_ahead(World& world) {
  co_await team_->strategy().settle();
  const Meter::Doing updates(team_->meter(), Part::update);
  co_await world.compute(0, [this] {
    const graph::Parameters& parameters = network_.parameters();
    lookahead_->update(parameters.weights(), parameters.working(),
                       lookahead_->decay(position_.step, total_steps_));
  });
}

void Trainer::note_step() {
  // About a hundred points an epoch: enough for a curve, few enough to write each at once.
  if (is_first() && position_.step % std::max<int64_t>(1, steps_per_epoch_ / 100) == 0) {
    board_->step(position_.step, loss_, learning_rate_);
  }
}

StepInfo Trainer::step_info() const {
  const auto samples = static_cast<double>(std::max<int64_t>(1, position_.samples));
  // Of the others nothing is known before the next meeting: they are taken to be as fast.
  const int64_t alike = team_->in_step() ? 1 : team_->present();
  return {.epoch = position_.epoch + 1,
          .epochs = job_.epochs,
          .step_in_epoch = steps_in_epoch(),
          .steps_per_epoch = steps_per_epoch_,
          .step = position_.step,
          .total_steps = total_steps_,
          .loss = position_.loss_sum / samples,
          .accuracy = static_cast<double>(position_.correct) / samples,
          .samples = position_.samples,
          .images_per_s = static_cast<double>(epoch_samples_ * alike) / trained_s_,
          .seconds = trained_s_};
}

}  // namespace syrtos::train
