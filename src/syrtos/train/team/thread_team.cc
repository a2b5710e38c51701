#include "syrtos/train/team/thread_team.h"

#include <atomic>

#include "syrtos/world/tcp/cluster.h"

namespace syrtos::train {

using world::Task;
using world::World;

namespace {

/// The others need not go on until they miss this one.
Task<> note_failure(Task<> task, std::atomic<bool>& failed) {
  try {
    co_await task;
  } catch (...) {
    failed = true;
    throw;
  }
}

}  // namespace

ThreadTeam::ThreadTeam(const Job& job, const TrainerOptions& options) : serving_(server_job(job)) {
  const bool shares = job.strategy.exchange.shares_memory();
  for (int worker = 0; worker < job.workers; ++worker) {
    const Trainer* sharing = shares && worker > 0 ? workers_.front().get() : nullptr;
    workers_.push_back(std::make_unique<Trainer>(job, worker, options, sharing));
  }
}

Outcome ThreadTeam::run(TrainObserver& observer, const std::function<bool()>& should_stop) {
  std::vector<Outcome> outcomes(workers_.size());
  std::atomic<bool> failed{false};
  TrainObserver silent;
  const auto stop = [&] { return failed || should_stop(); };
  world::TcpOptions options;
  // Those who share weights have few and small messages.
  options.shared_memory = !serving_.options.exchange.shares_memory();
  world::TcpCluster cluster(serving_.team.ranks(), options);
  world::run_all(cluster, [&](World& world) -> Task<> {
    const auto rank = static_cast<size_t>(world.rank());
    if (rank >= workers_.size()) return note_failure(serve(world, serving_), failed);
    TrainObserver& told = rank == 0 ? observer : silent;
    Task<Outcome> training = workers_[rank]->run(world, told, stop);
    return note_failure(keep_result(std::move(training), outcomes[rank]), failed);
  });
  Outcome outcome = outcomes.front();
  for (size_t rank = 1; rank < outcomes.size(); ++rank) {
    for (const auto& [stale, updates] : outcomes[rank].staleness) {
      outcome.staleness[stale] += updates;
    }
  }
  return outcome;
}

}  // namespace syrtos::train
