#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "syrtos/api/rank.h"
#include "syrtos/api/worker.h"
#include "syrtos/base/parallel.h"
#include "syrtos/train/team/server_work.h"
#include "syrtos/train/trainer.h"

namespace syrtos::api {

/// What a rank trains or serves with. It is made before the rank meets the others, because building
/// a network takes a while.
class RankWork {
 public:
  /// Where a rank works, beside its request.
  struct Place {
    world::Rank rank = 0;
    int processes = 1;      ///< ranks on this machine, with this one
    bool in_teams = false;  ///< somebody forms another team when ranks are lost
  };
  /// Throws RequestError.
  RankWork(TrainRequest request, const Place& place, const Surroundings& surroundings);

  /// Trains or serves to the end, in a world that has run(Task). `membership`: none without a
  /// launcher. Worker 0 opens the run and tells `on_run`. Where teams follow each other, one that
  /// was left because others wanted to is not the end of the run.
  struct Wishes {
    std::function<bool()> stop;   ///< the run is to end
    std::function<bool()> pause;  ///< only the team is to
  };
  /// True: the run has ended.
  template <typename AnyWorld>
  bool run(AnyWorld& world, const RankHooks& hooks, const Wishes& wishes,
           launch::Membership* membership, const OnRun& on_run);

  /// Workers go on as another team when one is lost.
  bool survives() const { return job_.strategy.survives; }
  /// Prepares for the team with this number: as this rank, of so many workers.
  /// `lost`: of the team before.
  void enter(int team, world::Rank rank, int workers, const std::vector<launch::Member>& lost);
  /// The step that it can go on from in another team; nothing: others must bring it there.
  std::optional<int64_t> leave();

 private:
  RankWork(TrainRequest&& request, const Place& place, const Surroundings& surroundings,
           TimedJob timed);
  void make_trainer(world::Rank rank);

  const TrainRequest request_;
  const Surroundings& surroundings_;
  job::Job job_;  // with the workers of the current team
  train::Beginning beginning_;
  const int processes_;
  int team_ = 1;
  std::unique_ptr<ThreadScope> threads_;
  train::ServerJob serving_;
  std::unique_ptr<train::Trainer> trainer_;  // none: a server
  std::optional<train::Carried> carried_;    // until the team has taken its first step
};

}  // namespace syrtos::api
