#pragma once

#include <deque>
#include <functional>
#include <optional>

#include "syrtos/strategy/worker_loop.h"
#include "syrtos/train/checkpoint/checkpoints.h"
#include "syrtos/train/epoch_end.h"
#include "syrtos/train/measure/board.h"
#include "syrtos/train/measure/measuring.h"
#include "syrtos/train/measure/notebook.h"
#include "syrtos/train/progress/observer.h"
#include "syrtos/train/progress/outcome.h"
#include "syrtos/train/team/worker_meetings.h"

namespace syrtos::train {

/// A worker from its first step to its last: load, pass, look, end of the epoch. What lives only
/// while it runs is here.
class WorkerRun final : strategy::StepHandler {
 public:
  /// All outlive it. `trace`: nullptr without one. `should_stop` is asked between steps, `pauses`
  /// when somebody wants to stop (Trainer::run).
  WorkerRun(WorkerState& state, TeamWork& team, strategy::Meetings& meetings, RunTrace* trace,
            TrainObserver& observer, std::function<bool()> should_stop,
            std::function<bool()> pauses);

  /// To the end of the run, or until somebody wants to stop; then the position is saved. Once.
  Task<Outcome> train();
  /// After train() has failed: goes back to the end of a step. Where the run was then; nothing
  /// where this worker alone cannot go back.
  Task<std::optional<Position>> go_back();

 private:
  bool goes_on() const override { return go_on_ && !course_.is_over(); }
  bool wants_to_stop() override { return should_stop_(); }
  Task<> load() override;
  strategy::StepInfo begin_pass() override;
  Task<Sums> look() override;
  Task<> end_step(int64_t steps, const Sums& sums) override;
  Task<> stop() override;

  Notebook* open_notebook();
  void load_batch();
  [[noreturn]] void fail_of_loss();
  /// On the host of this one, with it.
  int workers_beside() const;
  void advance(int64_t steps);
  void note_position();
  Task<> look_ahead();
  void tell_step();
  void tell_troubles();
  Task<> end_epoch();
  /// What worker 0's observer wants is everybody's learning rate from the next step on.
  Task<> agree_on_rate();
  void use_rate(double rate);
  StepProgress progress() const;

  WorkerState& state_;
  Course& course_;
  TeamWork& team_;
  World& world_;
  TrainObserver& observer_;
  const std::function<bool()> should_stop_;

  std::optional<Notebook> notebook_;  // worker 0's, as the keeper and the board
  std::optional<Keeper> keeper_;
  WorkerMeetings meetings_;
  Measuring measuring_;
  Checkpoints checkpoints_;
  std::optional<Board> board_;
  EpochEnd epoch_end_;

  data::Batch batch_;  // of the current step
  float loss_ = 0;     // of the last step's own samples; of all where there are none
  bool has_loss_ = false;
  double began_ = 0;  // the current step
  EpochPace pace_;
  std::deque<Position> positions_;  // after the last steps and the one copied, for going back
  bool go_on_ = true;
  Outcome outcome_;
};

}  // namespace syrtos::train
