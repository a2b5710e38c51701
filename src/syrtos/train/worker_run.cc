#include "syrtos/train/worker_run.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "syrtos/base/cpu.h"
#include "syrtos/base/error.h"
#include "syrtos/base/log.h"
#include "syrtos/job/task_metrics.h"

namespace syrtos::train {

namespace {

/// Cores that all workers of this host have in common; 0: this one is bound to some of them, as
/// mpirun does, and others may have others.
int shared_cores() {
  cpu_set_t own;
  CPU_ZERO(&own);
  if (sched_getaffinity(0, sizeof own, &own) != 0) return 0;
  return CPU_COUNT(&own) < sysconf(_SC_NPROCESSORS_ONLN) ? 0 : cpu_info().cores;
}

/// What only worker 0 has.
template <typename T>
T* if_first(std::optional<T>& one) {
  return one ? &*one : nullptr;
}

}  // namespace

WorkerRun::WorkerRun(WorkerState& state, TeamWork& team, strategy::Meetings& meetings,
                     RunTrace* trace, TrainObserver& observer, std::function<bool()> should_stop,
                     std::function<bool()> pauses)
    : state_(state),
      course_(state.course),
      team_(team),
      world_(team.world()),
      observer_(observer),
      should_stop_(std::move(should_stop)),
      meetings_(world_, team.team(), meetings, team.sums(), team.meter()),
      measuring_(team, meetings_, state.job, state.options, state.made, state.learner.network(),
                 std::move(state.earlier), open_notebook(), if_first(state.directory), trace,
                 course_.position().step),
      checkpoints_(state, team, meetings_, if_first(keeper_), std::move(pauses)),
      board_(state.is_first() ? std::optional<Board>(
                                    std::in_place, *notebook_, state.directory->path(),
                                    state.learner.network().model().graph, course_.position().step)
                              : std::nullopt),
      epoch_end_(state, team, meetings_, checkpoints_, measuring_, if_first(keeper_),
                 if_first(board_)) {
  state_.loader.seek(course_.position().epoch, course_.position().used);
  note_position();
  if (!state_.is_first()) return;
  observer_.started({.job = state_.job,
                     .directory = *state_.directory,
                     .parameters = nn::parameter_count(state_.learner.network().model().graph),
                     .memory_bytes = state_.memory_bytes(),
                     .steps_per_epoch = course_.steps_per_epoch(),
                     .total_steps = course_.total_steps(),
                     .team = state_.options.team,
                     .first_step = course_.position().step,
                     .buckets = static_cast<int>(team_.replica().layout().buckets.size()),
                     .beside = workers_beside(),
                     .cores = shared_cores(),
                     .notes = state_.notes,
                     .weights = state_.learner.about_weights()});
}

Notebook* WorkerRun::open_notebook() {
  if (!state_.is_first()) return nullptr;
  notebook_.emplace();
  keeper_.emplace(state_, *notebook_);
  return &*notebook_;
}

int WorkerRun::workers_beside() const {
  int count = 0;
  for (int rank = 0; rank < team_.workers(); ++rank) {
    count += world_.host(rank) == world_.host(world_.rank()) ? 1 : 0;
  }
  return count;
}

Task<Outcome> WorkerRun::train() {
  if (course_.position().unmeasured) co_await end_epoch();
  co_await strategy::take_steps(team_.strategy(), team_.sums(), *this);
  co_await measuring_.end(course_.position().step);
  co_await team_.strategy().end();
  measuring_.end_exchange();
  if (notebook_) co_await world_.compute(0, [this] { notebook_->drain(); });
  tell_troubles();
  outcome_.staleness = team_.strategy().staleness();
  outcome_.dropped = team_.strategy().dropped();
  outcome_.position = course_.position();
  if (keeper_) outcome_.unsaved = keeper_->failure();
  outcome_.epochs = state_.history;
  state_.trained = measuring_.part(course_.position().step);
  co_return std::move(outcome_);
}

Task<std::optional<Position>> WorkerRun::go_back() {
  const std::optional<int64_t> done = co_await team_.strategy().go_back();
  log_info("step {} is broken off; goes back to {}", course_.position().step + 1,
           done ? fmt::format("the end of step {}", *done) : "nothing");
  if (!done) co_return std::nullopt;
  co_await measuring_.leave(*done);
  state_.trained = measuring_.part(*done);
  if (notebook_) co_await world_.compute(0, [this] { notebook_->drain(); });
  // The step may be complete although nobody could say so any more.
  if (*done == course_.position().step + 1) {
    course_.advance(batch_.slice, 1);
    if (state_.learner.looks_ahead(*done)) {
      co_await world_.compute(
          0, [this] { state_.learner.look_ahead(course_.position().step, course_.total_steps()); });
    }
  }
  if (*done == course_.position().step) co_return course_.position();
  const auto found = std::ranges::find(positions_, *done, &Position::step);
  if (found == positions_.end()) co_return std::nullopt;
  co_return *found;
}

/// What the last step's samples came to is not known yet where workers add it up: it is noted then.
void WorkerRun::note_position() {
  constexpr size_t kMost = 1024;
  if (!positions_.empty()) {
    Position& before = positions_.back();
    const Sums sums = course_.sums();
    const bool same_epoch = before.epoch == course_.position().epoch;
    if (same_epoch && team_.sums().shared()) {
      before.loss_sum = sums.loss;
      before.score_sum = sums.score;
      before.samples = sums.samples;
    }
    if (positions_.size() == kMost) {
      // With averages that are far apart what was copied is older than all of these.
      const bool copied = positions_.front().step == team_.strategy().copied();
      positions_.erase(positions_.begin() + (copied ? 1 : 0));
    }
  }
  positions_.push_back(course_.position());
}

Task<> WorkerRun::load() {
  began_ = world_.now();
  measuring_.begin_step(course_.position().step + 1, batch_.ready);
  const Meter::Doing loads(team_.meter(), Part::load);
  // A batch of another size may need a program that does not exist yet: not on this thread.
  if (state_.loader.ready(batch_.slice.count)) {
    load_batch();
  } else {
    co_await world_.compute(0, [this] { load_batch(); });
  }
}

void WorkerRun::load_batch() {
  batch_ = state_.loader.next();
  SYRTOS_CHECK(batch_.epoch == course_.position().epoch, "{} {}", batch_.epoch,
               course_.position().epoch);
  team_.replica().take(batch_, course_.samples_of(batch_.slice));
}

strategy::StepInfo WorkerRun::begin_pass() {
  course_.begin_step();
  const Position& position = course_.position();
  const int64_t samples = batch_.slice.count;
  const int64_t of_all = course_.samples_of(batch_.slice);
  team_.replica().begin({.seed = state_.job.seed,
                         .step = position.step,
                         .first_sample = batch_.slice.first - position.used});
  strategy::StepInfo info;
  info.step = position.step;
  info.weight =
      static_cast<double>(samples * team_.team().replicas()) / static_cast<double>(of_all);
  info.hyper = {.learning_rate = course_.learning_rate(),
                .weight_decay = state_.job.weight_decay,
                .step = position.updates};
  info.clip = state_.job.clip;
  return info;
}

Task<Sums> WorkerRun::look() {
  const Sums sums = team_.replica().sums();
  has_loss_ = sums.samples > 0;
  if (!has_loss_) co_return sums;
  loss_ = static_cast<float>(sums.loss / static_cast<double>(sums.samples));
  if (!std::isfinite(loss_)) co_await world_.compute(0, [this] { fail_of_loss(); });
  co_return sums;
}

/// Looks for the layer that is to blame.
void WorkerRun::fail_of_loss() {
  const Position& position = course_.position();
  const graph::Program::Item* item = team_.replica().find_non_finite();
  const std::string where =
      item == nullptr
          ? state_.learner.network().division().in_pieces()
                ? "which layer is to blame is not known where the network is in parts"
                : "no single layer is to blame"
          : fmt::format("first non-finite value after layer {} ({})", item->layer, item->operation);
  fail_run("loss is {} at step {} (epoch {}): {}; try a smaller --lr (now {}) or --clip 1",
           std::isnan(loss_) ? "nan" : "infinite", position.step + 1, position.epoch + 1, where,
           course_.learning_rate());
}

Task<> WorkerRun::end_step(int64_t steps, const Sums& sums) {
  course_.add(sums);
  // Whoever has no part of the loss knows that of all, a step later.
  if (!has_loss_ && sums.samples > 0) {
    loss_ = static_cast<float>(sums.loss / static_cast<double>(sums.samples));
  }
  advance(steps);
  if (state_.learner.looks_ahead(course_.position().step)) co_await look_ahead();
  note_position();
  tell_step();
  const int64_t done = course_.position().step;
  if (course_.epoch_is_complete() || course_.is_over()) {
    co_await end_epoch();
  } else {
    if (checkpoints_.are_due()) {
      measuring_.end_step(done);
      co_await checkpoints_.save(false);
      measuring_.end_pause();
    }
    measuring_.end_step(done);
  }
  measuring_.tell_news();
}

void WorkerRun::advance(int64_t steps) {
  const Course::Taken taken = course_.advance(batch_.slice, steps);
  pace_.samples +=
      team_.in_step()
          ? taken.samples
          : std::llround(team_.strategy().counted() * static_cast<double>(batch_.slice.count));
  if (taken.steps == 1) return;
  const Position& position = course_.position();
  if (course_.epoch_is_complete()) {
    state_.loader.seek(position.epoch + 1, 0);
  } else {
    state_.loader.seek(position.epoch, position.used);
  }
}

Task<> WorkerRun::look_ahead() {
  co_await team_.strategy().settle();
  const Meter::Doing updates(team_.meter(), Part::update);
  co_await world_.compute(
      0, [this] { state_.learner.look_ahead(course_.position().step, course_.total_steps()); });
}

void WorkerRun::tell_step() {
  const int64_t done = course_.position().step;
  // About a hundred points an epoch: enough for a curve, few enough to write each at once.
  if (board_ && done % std::max<int64_t>(1, course_.steps_per_epoch() / 100) == 0) {
    board_->step(done, loss_, course_.learning_rate());
  }
  pace_.seconds += world_.now() - began_;
  observer_.step(progress());
  if (team_.team().workers == 1) {
    if (const std::optional<double> rate = observer_.take_rate()) use_rate(*rate);
  }
  log_trace("worker {}: step {} of {} is done", state_.worker, done, course_.total_steps());
  measuring_.look_for_lost(done);
  tell_troubles();
}

void WorkerRun::tell_troubles() {
  if (!notebook_) return;
  for (const int worker : measuring_.take_lost()) observer_.lost(worker);
  for (const std::string& text : notebook_->take_complaints()) observer_.note(text);
}

StepProgress WorkerRun::progress() const {
  const Sums sums = course_.sums();
  const auto samples = static_cast<double>(std::max<int64_t>(1, sums.samples));
  // Of the others nothing is known before the next meeting: they are taken to be as fast.
  const int64_t alike = team_.in_step() ? 1 : meetings_.present();
  return {.epoch = course_.position().epoch + 1,
          .epochs = state_.job.epochs,
          .step_in_epoch = course_.steps_in_epoch(),
          .steps_per_epoch = course_.steps_per_epoch(),
          .step = course_.position().step,
          .total_steps = course_.total_steps(),
          .loss = sums.loss / samples,
          .score = {&job::training_metric(state_.job.task), sums.score / samples},
          .samples = sums.samples,
          .images_per_s = static_cast<double>(pace_.samples * alike) / pace_.seconds,
          .seconds = pace_.seconds};
}

Task<> WorkerRun::end_epoch() {
  std::optional<EpochEnd::Result> result = co_await epoch_end_.finish(pace_);
  pace_ = {};
  positions_.back() = course_.position();
  measuring_.end_pause();
  if (!result) {
    outcome_.end = Outcome::End::interrupted;
    go_on_ = false;
    co_return;
  }
  if (state_.is_first()) observer_.epoch(result->metrics);
  tell_troubles();
  if (course_.is_over()) co_return;
  if (state_.watch.should_stop()) {
    outcome_.end = Outcome::End::stopped_early;
    go_on_ = false;
    co_return;
  }
  co_await agree_on_rate();
  if (result->gather) co_await measuring_.gather(course_.position().step);
}

Task<> WorkerRun::agree_on_rate() {
  const std::optional<double> wanted = state_.is_first() ? observer_.take_rate() : std::nullopt;
  const nlohmann::json rate =
      co_await meetings_.hear_first(wanted ? nlohmann::json(*wanted) : nlohmann::json());
  if (rate.is_null()) co_return;
  use_rate(rate.get<double>());
  // What was saved at the end of the epoch does not know it.
  co_await checkpoints_.save(false);
  measuring_.end_pause();
}

void WorkerRun::use_rate(double rate) {
  course_.set_rate(rate);
  positions_.back() = course_.position();
}

Task<> WorkerRun::stop() {
  // Free workers agree in a meeting, where the position was saved.
  const bool saved = team_.sums().stop_agreed() && !team_.in_step();
  if (!saved) co_await checkpoints_.save(true);
  measuring_.end_pause();
  outcome_.end = Outcome::End::interrupted;
}

}  // namespace syrtos::train
