#pragma once

#include <functional>
#include <memory>

#include "syrtos/api/rank.h"
#include "syrtos/base/parallel.h"
#include "syrtos/train/team/server_work.h"
#include "syrtos/train/trainer.h"

namespace syrtos::api {

/// What a rank trains or serves with. It is made before the rank meets the others, because building
/// a network takes a while.
class RankWork {
 public:
  /// Throws RequestError.
  /// `processes`: ranks on this machine, with this one.
  RankWork(TrainRequest request, world::Rank rank, const Surroundings& surroundings,
           int processes = 1);

  /// Trains or serves to the end, in a world that has run(Task). `membership`: none without a
  /// launcher. Worker 0 opens the run and tells `on_run`.
  template <typename AnyWorld>
  void run(AnyWorld& world, const RankHooks& hooks, const std::function<bool()>& should_stop,
           launch::Membership* membership, const OnRun& on_run);

 private:
  const TrainRequest request_;
  std::unique_ptr<ThreadScope> threads_;
  train::ServerJob serving_;
  std::unique_ptr<train::Trainer> trainer_;  // none: a server
};

}  // namespace syrtos::api
