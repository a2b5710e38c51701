#include "syrtos/api/rank_work.h"

#include <fmt/format.h>

#include <optional>

#include "syrtos/api/worker.h"
#include "syrtos/train/progress/observer_thread.h"
#include "syrtos/world/mpi/mpi_world.h"

namespace syrtos::api {

namespace {

/// Tells the launcher what this rank does, and whoever observes what worker 0 does.
class RankObserver final : public train::TrainObserver {
 public:
  RankObserver(train::TrainObserver* shown, launch::Membership* membership)
      : shown_(shown), membership_(membership) {}

  void started(const train::StartInfo& info) override {
    if (membership_ != nullptr) membership_->begun();
    if (shown_ != nullptr) shown_->started(info);
  }
  void step(const train::StepProgress& info) override {
    if (shown_ != nullptr) shown_->step(info);
    if (membership_ != nullptr) {
      membership_->report(fmt::format("step {} of {}", info.step, info.total_steps));
    }
  }
  void epoch(const run::EpochMetrics& metrics) override {
    if (shown_ != nullptr) shown_->epoch(metrics);
  }
  void lost(int worker) override {
    if (membership_ != nullptr) membership_->misses(worker);
  }
  void note(const std::string& text) override {
    if (shown_ != nullptr) shown_->note(text);
  }

 private:
  train::TrainObserver* shown_;
  launch::Membership* membership_;
};

}  // namespace

RankWork::RankWork(TrainRequest request, world::Rank rank, const Surroundings& surroundings,
                   int processes)
    : request_(std::move(request)) {
  TimedJob timed = resolve_timed(request_, request_.job, surroundings);
  job::Job& job = timed.job;
  if (!request_.precision_reason.empty()) job.precision.reason = request_.precision_reason;
  threads_ = std::make_unique<ThreadScope>(job.threads);
  train::TrainerOptions options;
  if (rank == 0) options = trainer_options(timed, request_, surroundings);
  options.processes = processes;
  serving_ = train::server_job(job);
  if (rank < serving_.team.workers) {
    trainer_ = std::make_unique<train::Trainer>(std::move(job), rank, std::move(options));
  }
}

template <typename AnyWorld>
void RankWork::run(AnyWorld& world, const RankHooks& hooks,
                   const std::function<bool()>& should_stop, launch::Membership* membership,
                   const OnRun& on_run) {
  if (!trainer_) {
    if (membership != nullptr) membership->report("serving weights");
    world.run(train::serve(world, serving_));
    return;
  }
  const bool first = world.rank() == 0;
  if (first) open_run(*trainer_, request_, on_run);
  if (membership != nullptr) membership->report("exchanging the first weights");
  const std::unique_ptr<train::TrainObserver> shown = first ? hooks.observer() : nullptr;
  Trained trained;
  {
    std::optional<train::ObserverThread> shows;
    if (first) shows.emplace(*shown);
    RankObserver told(first ? &*shows : nullptr, membership);
    world.run(train::keep_result(trainer_->run(world, told, should_stop), trained.outcome));
  }
  if (!first) return;
  trained.run = trainer_->directory().path();
  hooks.finished(trained);
}

template void RankWork::run(world::TcpWorld&, const RankHooks&, const std::function<bool()>&,
                            launch::Membership*, const OnRun&);
template void RankWork::run(world::MpiWorld&, const RankHooks&, const std::function<bool()>&,
                            launch::Membership*, const OnRun&);

}  // namespace syrtos::api
