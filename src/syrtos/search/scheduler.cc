#include "syrtos/search/scheduler.h"

#include <algorithm>

#include "syrtos/base/statistics.h"

namespace syrtos::search {

namespace {
constexpr int64_t kDefaultTrials = 20;
constexpr size_t kOthers = 4;  // that must have come as far before a trial is called hopeless
}  // namespace

Scheduler::Scheduler(const Plan& plan) : plan_(plan), sampler_(plan), rungs_(plan.rungs()) {
  const Settings& settings = plan.settings;
  trials_ = settings.trials;
  const bool grid = parse_sampler(settings.sampler) == SamplerKind::grid;
  if (trials_ == 0 && !grid && settings.total_epochs == 0 && settings.hours == 0) {
    trials_ = kDefaultTrials;
  }
  if (sampler_.size() > 0)
    trials_ = trials_ == 0 ? sampler_.size() : std::min(trials_, sampler_.size());
}

int64_t Scheduler::until_of(size_t rung) const {
  return rung + 1 >= rungs_.size() ? 0 : rungs_[rung];
}

int64_t Scheduler::epochs_of(const Trial& trial) const {
  const int64_t epochs = plan_.job_at(trial.point).epochs;
  return epochs == job::kUnset ? 1 : epochs;
}

bool Scheduler::leaves(const Ledger& ledger, int64_t epochs) const {
  if (plan_.settings.total_epochs == 0) return true;
  int64_t promised = 0;
  for (const Trial& trial : ledger.trials()) {
    const bool goes_on = trial.state == TrialState::running || trial.state == TrialState::waiting;
    promised += goes_on ? std::max(trial.epoch, trial.until > 0 ? trial.until : epochs_of(trial))
                        : trial.epoch;
  }
  return promised + epochs <= plan_.settings.total_epochs;
}

Decision Scheduler::next(const Ledger& ledger, const May& may_go_on) const {
  bool others_wait = false;
  for (const Trial& trial : ledger.trials()) {
    if (trial.state != TrialState::waiting) continue;
    if (may_go_on(trial)) {
      return {.kind = Decision::Kind::go_on, .trial = trial.number, .until = trial.until};
    }
    others_wait = true;
  }
  if (const auto promoted = promote(ledger, may_go_on)) return *promoted;
  const auto begun = static_cast<int64_t>(ledger.trials().size());
  if (trials_ == 0 || begun < trials_) {
    if (std::optional<Point> point = sampler_.next(ledger)) {
      const int64_t until = until_of(0);
      Trial next;
      next.point = *point;
      if (leaves(ledger, until > 0 ? until : epochs_of(next))) {
        return {.kind = Decision::Kind::begin, .point = std::move(*point), .until = until};
      }
    }
  }
  if (ledger.running() > 0 || others_wait) return {.kind = Decision::Kind::wait};
  if (const auto last = finish_one(ledger, may_go_on)) return *last;
  return {.kind = Decision::Kind::over};
}

std::optional<Decision> Scheduler::promote(const Ledger& ledger, const May& may_go_on) const {
  struct Reached {
    double value;
    const Trial* trial;
  };
  for (size_t rung = rungs_.size() - 1; rung-- > 0;) {
    std::vector<Reached> reached;
    bool any_paused = false;
    for (const Trial& trial : ledger.trials()) {
      if (trial.state == TrialState::failed) continue;
      // One that has stopped early has come to what it can.
      const bool there = trial.epoch >= rungs_[rung] || trial.state == TrialState::done;
      const std::optional<Score> best = ledger.best_of(trial, rungs_[rung]);
      if (!there || !best) continue;
      reached.push_back({best->value, &trial});
      any_paused |= trial.state == TrialState::paused && trial.epoch == rungs_[rung];
    }
    if (!any_paused) continue;
    const size_t good = reached.size() / static_cast<size_t>(plan_.settings.halving);
    std::stable_sort(reached.begin(), reached.end(), [&](const Reached& a, const Reached& b) {
      return ledger.is_better(a.value, b.value);
    });
    for (size_t i = 0; i < good; ++i) {
      const Trial& trial = *reached[i].trial;
      if (trial.state != TrialState::paused || trial.epoch != rungs_[rung]) continue;
      if (!may_go_on(trial) || !leaves(ledger, rungs_[rung + 1] - rungs_[rung])) continue;
      return Decision{
          .kind = Decision::Kind::go_on, .trial = trial.number, .until = until_of(rung + 1)};
    }
  }
  return std::nullopt;
}

std::optional<Decision> Scheduler::finish_one(const Ledger& ledger, const May& may_go_on) const {
  const Trial* best = nullptr;
  for (const Trial& trial : ledger.trials()) {
    if (trial.state == TrialState::done) return std::nullopt;
    if (trial.state != TrialState::paused || !may_go_on(trial)) continue;
    if (best == nullptr || trial.epoch > best->epoch ||
        (trial.epoch == best->epoch &&
         ledger.is_better(ledger.best_of(trial)->value, ledger.best_of(*best)->value))) {
      best = &trial;
    }
  }
  if (best == nullptr || !leaves(ledger, plan_.epochs() - best->epoch)) return std::nullopt;
  return Decision{.kind = Decision::Kind::go_on, .trial = best->number, .until = 0};
}

bool Scheduler::is_hopeless(const Ledger& ledger, const Trial& trial) const {
  if (plan_.settings.hopeless != "median" || trial.state != TrialState::running) return false;
  const std::optional<Score> own = ledger.best_of(trial);
  if (!own || 3 * trial.epoch < epochs_of(trial)) return false;
  std::vector<double> others;
  for (const Trial& other : ledger.trials()) {
    if (&other == &trial || other.epoch < trial.epoch || other.state == TrialState::failed)
      continue;
    if (const auto best = ledger.best_of(other, trial.epoch)) others.push_back(best->value);
  }
  return others.size() >= kOthers && ledger.is_better(median(others), own->value);
}

}  // namespace syrtos::search
