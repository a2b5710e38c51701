#pragma once

#include "syrtos/run/directory.h"
#include "syrtos/train/measure/accounting.h"
#include "syrtos/train/measure/measures.h"
#include "syrtos/train/measure/news.h"
#include "syrtos/train/measure/run_trace.h"
#include "syrtos/train/team/team_work.h"
#include "syrtos/train/team/worker_meetings.h"

namespace syrtos::train {

/// What a worker measures while it trains: where the time of its steps goes, the files that worker
/// 0 makes of what all measured, news for whoever watches, and the trace.
class Measuring {
 public:
  /// All outlive it. `notebook`, `directory`: worker 0's, elsewhere nullptr; `trace`: nullptr
  /// without one. The step after `steps_done` begins, with a trainer that was made at `made_at`
  /// (measures.h).
  Measuring(TeamWork& team, WorkerMeetings& meetings, const Job& job, const TrainerOptions& options,
            double made_at, const CompiledNetwork& network, Earlier earlier, Notebook* notebook,
            const run::Directory* directory, RunTrace* trace, int64_t steps_done);

  /// The step with this number begins; so many batches are ready.
  void begin_step(int64_t step, int64_t queue);
  /// So many steps are done now.
  void end_step(int64_t steps_done) { accounting_.end_step(steps_done); }
  /// What came after the last step is over.
  void end_pause() { accounting_.end_pause(); }
  /// Nothing is computed: whoever watches may be told. Quick but for once in a second.
  void tell_news() { news_.step(); }
  /// Worker 0, where workers can be spared: notes whom the run goes on without.
  void look_for_lost(int64_t steps_done);
  /// Those that were found since the last time.
  std::vector<int> take_lost() { return measures_.take_lost(); }

  /// Where the time of the epoch's steps went; the next epoch's begins.
  trace::StepDivision take_epoch() { return accounting_.take_epoch(); }
  /// Worker 0: whether it is worth while to gather now.
  bool is_due() const { return measures_.due(); }
  /// All bring what they measured so far, and worker 0 writes it down.
  Task<> gather(int64_t steps_done);
  /// Others are lost, and the run goes back to where so many steps are done: worker 0 writes down
  /// what it knows.
  Task<> leave(int64_t steps_done);
  /// What this team has trained, to so many steps.
  run::TrainedPart part(int64_t steps_done) const { return measures_.part(steps_done); }
  /// After the last step: the final files.
  Task<> end(int64_t steps_done);
  /// After the strategy has ended: what it counted to its end.
  void end_exchange();

 private:
  Task<> gather_trace();

  TeamWork& team_;
  WorkerMeetings& meetings_;
  const bool tolerates_losses_;
  Notebook* const notebook_;
  const run::Directory* const directory_;
  RunTrace* const trace_;
  int64_t steps_done_ = 0;  // in the end
  Accounting accounting_;
  Measures measures_;
  News news_;
};

}  // namespace syrtos::train
