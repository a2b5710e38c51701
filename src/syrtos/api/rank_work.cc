#include "syrtos/api/rank_work.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "syrtos/api/ensemble.h"
#include "syrtos/api/teacher.h"
#include "syrtos/base/clock.h"
#include "syrtos/base/error.h"
#include "syrtos/train/progress/observer_thread.h"
#include "syrtos/world/mpi/mpi_world.h"

namespace syrtos::api {

namespace {

/// Tells the launcher what this rank does, and whoever observes what worker 0 does.
class RankObserver final : public train::TrainObserver {
 public:
  /// `begun` is told of the first step.
  RankObserver(train::TrainObserver* shown, launch::Membership* membership,
               std::function<void()> begun)
      : shown_(shown), membership_(membership), begun_(std::move(begun)) {}

  void started(const train::StartInfo& info) override {
    if (membership_ != nullptr) membership_->begun();
    if (shown_ != nullptr) shown_->started(info);
  }
  void step(const train::StepProgress& info) override {
    if (begun_) std::exchange(begun_, nullptr)();
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
  std::function<void()> begun_;
};

}  // namespace

RankWork::RankWork(TrainRequest request, const Place& place, const Surroundings& surroundings)
    : RankWork(std::move(request), place, surroundings,
               resolve_timed(request, request.job, surroundings)) {}

RankWork::RankWork(TrainRequest&& request, const Place& place, const Surroundings& surroundings,
                   TimedJob timed)
    : request_(std::move(request)),
      surroundings_(surroundings),
      job_(std::move(timed.job)),
      beginning_(timed.beginning),
      processes_(place.processes) {
  if (!request_.precision_reason.empty()) job_.precision.reason = request_.precision_reason;
  job_.strategy.survives = place.in_teams && job_.may_lose_workers();
  if (place.rank < train::server_job(job_).team.workers) load_teacher(surroundings, job_);
  threads_ = std::make_unique<ThreadScope>(job_.threads);
  serving_ = train::server_job(job_);
  if (place.rank < serving_.team.workers) make_trainer(place.rank);
}

void RankWork::make_trainer(world::Rank rank) {
  train::TrainerOptions options;
  if (rank == 0) options = trainer_options({job_, beginning_}, request_, surroundings_);
  options.processes = processes_;
  options.team = team_;
  trainer_.reset();  // two would need twice the memory
  trainer_ = std::make_unique<train::Trainer>(job_, rank, std::move(options));
}

void RankWork::enter(int team, world::Rank rank, int workers,
                     const std::vector<launch::Member>& lost) {
  if (team == 1) return;
  team_ = team;
  job_.workers = workers;
  // One that has trained before has its account written down.
  beginning_ = {.asked = wall_clock(), .data_s = 0, .resolved = wall_clock()};
  make_trainer(rank);
  if (!carried_) return;
  carried_->lost.clear();
  for (const launch::Member& one : lost) {
    carried_->lost.push_back({one.seat, one.host, carried_->snapshot.position.step});
  }
  // What the rank 0 before may still want to write must fail.
  const run::Claim claim{.token = fmt::format("{}-{}", request_.claim.token, team),
                         .heir_of = request_.claim.token};
  trainer_->enter_team(*carried_, request_.resume.empty() ? job_.run : request_.resume, claim);
}

std::optional<int64_t> RankWork::leave() {
  if (std::optional<train::Carried> left = trainer_->leave_team()) carried_ = std::move(left);
  if (!carried_) return std::nullopt;
  return carried_->snapshot.position.step;
}

template <typename AnyWorld>
bool RankWork::run(AnyWorld& world, const RankHooks& hooks, const Wishes& wishes,
                   launch::Membership* membership, const OnRun& on_run) {
  if (!trainer_) {
    if (membership != nullptr) membership->report("serving weights");
    world.run(train::serve(world, serving_));
    return true;
  }
  const bool first = world.rank() == 0;
  if (first && team_ == 1) open_run(*trainer_, request_, on_run);
  if (membership != nullptr) membership->report("exchanging the first weights");
  const std::unique_ptr<train::TrainObserver> shown = first ? hooks.observer() : nullptr;
  const auto should_stop = [&] { return wishes.stop() || (wishes.pause && wishes.pause()); };
  Trained trained;
  {
    std::optional<train::ObserverThread> shows;
    if (first) shows.emplace(*shown);
    RankObserver told(first ? &*shows : nullptr, membership, [this] { carried_.reset(); });
    const auto pauses = [&] { return survives() && !wishes.stop(); };
    world.run(train::keep_result(trainer_->run(world, told, should_stop, pauses), trained.outcome));
  }
  const bool paused = survives() && trained.outcome.end == train::Outcome::End::interrupted;
  if (paused && !wishes.stop()) return false;
  if (!first) return true;
  // Somebody else wanted it first, so it was taken for a pause.
  if (paused && !trained.outcome.unsaved.empty()) fail_run("{}", trained.outcome.unsaved);
  trained.run = trainer_->directory().path();
  if (trained.outcome.end != train::Outcome::End::interrupted) make_ensemble(trained.run);
  hooks.finished(trained);
  return true;
}

template bool RankWork::run(world::TcpWorld&, const RankHooks&, const Wishes&, launch::Membership*,
                            const OnRun&);
template bool RankWork::run(world::MpiWorld&, const RankHooks&, const Wishes&, launch::Membership*,
                            const OnRun&);

}  // namespace syrtos::api
