#pragma once

#include <functional>
#include <utility>

#include "syrtos/train/checkpoint/keeper.h"
#include "syrtos/train/team/team_work.h"
#include "syrtos/train/team/worker_meetings.h"
#include "syrtos/train/worker_state.h"

namespace syrtos::train {

/// Positions within an epoch that any number of workers can go on from: when they are saved, and by
/// whom.
class Checkpoints {
 public:
  /// All outlive it. `keeper`: worker 0's, elsewhere nullptr. `pauses`: a run that stops now goes
  /// on as another team, which has in memory all that it needs.
  Checkpoints(WorkerState& state, TeamWork& team, WorkerMeetings& meetings, Keeper* keeper,
              std::function<bool()> pauses)
      : state_(state),
        team_(team),
        meetings_(meetings),
        keeper_(keeper),
        pauses_(std::move(pauses)) {}

  /// After the last step, by --checkpoint-every.
  bool are_due() const;
  /// Saves where the run is; where it stops, it must. Workers that do not take steps together learn
  /// here if one of them wants to stop.
  Task<> save(bool wants_to_stop);
  /// All workers have settled: they bring worker 0 what it needs, and it saves. `must`: the run
  /// ends here.
  Task<> save_together(bool must);
  /// All workers have settled: they come to the same weights.
  Task<> agree();
  /// Worker 0 gets what others have of a network in parts.
  Task<> collect_parts();

 private:
  Task<> save_here(bool must);

  WorkerState& state_;
  TeamWork& team_;
  WorkerMeetings& meetings_;
  Keeper* const keeper_;
  const std::function<bool()> pauses_;
};

}  // namespace syrtos::train
