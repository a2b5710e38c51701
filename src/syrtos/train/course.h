#pragma once

#include <cstdint>

#include "syrtos/job/job.h"
#include "syrtos/optim/schedule.h"
#include "syrtos/strategy/step_sums.h"
#include "syrtos/train/checkpoint/snapshot.h"

namespace syrtos::train {

using job::Job;
using strategy::Sums;

/// Where a worker's run is, how many steps are left of it, and how fast it learns there.
class Course {
 public:
  /// At the beginning. `job` outlives it.
  Course(const Job& job, int worker);

  const Position& position() const { return position_; }
  /// The run goes on from there. With another number of workers than before it has other steps from
  /// there on.
  void go_to(const Position& position);

  int64_t total_steps() const { return total_steps_; }
  int64_t steps_per_epoch() const { return steps_per_epoch_; }
  /// Steps done in the current epoch.
  int64_t steps_in_epoch() const { return steps_per_epoch_ - steps_left(); }
  bool is_over() const { return position_.step >= total_steps_; }
  /// All samples of the current epoch have been used.
  bool epoch_is_complete() const { return position_.used > 0 && steps_left() == 0; }

  /// Of the step that is being taken, or was taken last.
  double learning_rate() const { return learning_rate_; }
  void begin_step();
  /// From the next step on, and when the run goes on, this takes the place of the job's learning
  /// rate, which the schedule varies as before. Above 0.
  void set_rate(double rate);
  /// Samples that all workers take in the step in which this worker takes `slice`.
  int64_t samples_of(const data::Slice& slice) const;

  struct Taken {
    int64_t steps = 0;
    int64_t samples = 0;  ///< of all workers
  };
  /// The step over `slice` is done; with more than one, a worker that was too slow leaves out what
  /// the others have done. Never beyond the end of the epoch.
  Taken advance(data::Slice slice, int64_t steps);

  /// What the samples of the current epoch came to so far.
  Sums sums() const { return {position_.loss_sum, position_.score_sum, position_.samples}; }
  void set_sums(const Sums& sums);
  void add(const Sums& sums);
  /// What the optimiser keeps has seen so many, where that is more than the steps.
  void note_updates(int64_t updates);
  void note_unmeasured() { position_.unmeasured = true; }
  /// The epoch, or the run, was evaluated. A run that ends within an epoch stays there, with
  /// `sums`, so that more steps can follow.
  void end_epoch(const Sums& sums, const optim::EarlyStopping& watch);

 private:
  int64_t steps_left() const;
  int64_t samples_of(const data::Slice& slice, int64_t used) const;

  const Job& job_;
  const data::Shard shard_;
  const int64_t steps_per_epoch_;
  Position position_;
  int64_t total_steps_ = 0;
  optim::Schedule schedule_;
  double learning_rate_ = 0;
};

}  // namespace syrtos::train
