// Teams that follow each other: whom a run goes on with when ranks are lost, or come.
//
//   a rank is lost         the others notice, leave their team and wait, each with the step that it
//                          can go on from
//   all that are left wait the next team is formed of them; rank 0 is who was it before, else who
//                          is furthest
//   a lost rank is back    it waits too; the team is asked to leave in good order, and all form the
//                          next one

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <csignal>

#include <algorithm>

#include "syrtos/base/error.h"
#include "syrtos/base/log.h"
#include "syrtos/launch/supervisor.h"

namespace syrtos::launch {

namespace {

// A rank that computes may notice late that others are lost, but not so late.
constexpr auto kRegroup = std::chrono::minutes(10);
// Before a rank is started again, each time twice as long: a host that comes and goes costs the
// others two meetings each time.
constexpr auto kFirstDelay = std::chrono::seconds(5);
constexpr int kMostDoublings = 7;
// Several that are about to come are waited for, so that the team changes once.
constexpr auto kGather = std::chrono::seconds(5);
constexpr int kMissedTeams = 2;  // in a row: whom others miss so often is left out

}  // namespace

bool Supervisor::may_regroup(const Failure& failure) const {
  if (options_.min_workers == 0 || !scheduler_->all_joined()) return false;
  // Who is only about to come is not needed.
  if (!scheduler_->seat(failure.rank).in_team) return true;
  const bool going = has_begun() || scheduler_->team() > 1;
  return failure.loss && going && !end_.interrupted;
}

void Supervisor::lose(Failure failure) {
  const Rank rank = failure.rank;
  RankProcess& process = *ranks_[static_cast<size_t>(rank)];
  process.settled = true;
  process.process.signal(SIGKILL);  // it may only be cut off, and wake up in the middle
  scheduler_->end(rank, "the others go on without this rank");
  Replacing& replacing = replacing_[static_cast<size_t>(rank)];
  if (options_.replace_lost && !failure.starved) {
    replacing.at = Clock::now() + kFirstDelay * (1 << std::min(replacing.times, kMostDoublings));
  }
  log_info("lost: {}", failure.text);
  if (scheduler_->seat(rank).in_team) {
    losses_.push_back(std::move(failure));
  } else {
    note(fmt::format("{}: it was to join", failure.text));
  }
}

void Supervisor::look_at_team() {
  if (options_.min_workers == 0 || !scheduler_->all_joined()) return;
  if (!failures_.empty()) return;  // nobody goes on: what they failed from is about to be judged
  if (scheduler_->seat(first_).state == Seat::State::left) return dismiss();
  const bool anybody = std::ranges::any_of(
      scheduler_->seats(), [](const Seat& seat) { return seat.in_team && seat.waiting; });
  if (losses_.empty() && !anybody) return;
  if (!regrouping_) {
    regrouping_ = Clock::now();
    if (has_begun()) std::ranges::fill(missed_again_, 0);
  }
  look_for_strays();
  if (!all_wait()) return;
  leave_out_missed();
  const std::vector<Rank> seats = next_team();
  if (static_cast<int>(seats.size()) < std::max(1, options_.min_workers) ||
      !scheduler_->seat(seats.front()).waiting->step) {
    return give_up_team(seats.size());
  }
  form_team(seats);
}

// The run is complete: who waits for another team, or is about to come, is not needed any more.
void Supervisor::dismiss() {
  for (Rank rank = 0; rank < static_cast<Rank>(ranks_.size()); ++rank) {
    RankProcess& process = *ranks_[static_cast<size_t>(rank)];
    const Seat& seat = scheduler_->seat(rank);
    replacing_[static_cast<size_t>(rank)].at.reset();
    if (process.settled || (seat.in_team && !seat.waiting)) continue;
    process.settled = true;
    process.process.signal(SIGKILL);
  }
}

// Members of whom nothing was heard since the others began to wait.
void Supervisor::look_for_strays() {
  const double silence = silence_of(options_.patience);
  for (const Seat& seat : scheduler_->seats()) {
    if (!seat.in_team || seat.waiting || ranks_[static_cast<size_t>(seat.rank)]->settled) continue;
    const bool silent = seconds_since(seat.heard) > silence;
    if (!silent && Clock::now() - *regrouping_ < kRegroup) continue;
    lose({.rank = seat.rank,
          .text = describe(seat.rank, silent ? "no longer answers" : "did not leave its team"),
          .loss = true});
  }
}

bool Supervisor::all_wait() const {
  return std::ranges::all_of(scheduler_->seats(), [this](const Seat& seat) {
    const bool gone =
        seat.state == Seat::State::left || ranks_[static_cast<size_t>(seat.rank)]->settled;
    return !seat.in_team || gone || seat.waiting;
  });
}

// Links between two hosts may be cut while both reach us: a team of both would never begin.
void Supervisor::leave_out_missed() {
  std::vector<int> misses(ranks_.size());
  for (const Seat& seat : scheduler_->seats()) {
    if (seat.in_team && seat.waiting && seat.waiting->misses >= 0) {
      ++misses[static_cast<size_t>(seat.waiting->misses)];
    }
  }
  Rank worst = -1;
  for (const Seat& seat : scheduler_->seats()) {
    const auto index = static_cast<size_t>(seat.rank);
    if (!seat.in_team || !seat.waiting || misses[index] == 0) continue;
    if (++missed_again_[index] < kMissedTeams) continue;
    if (worst < 0 || misses[index] >= misses[static_cast<size_t>(worst)]) worst = seat.rank;
  }
  if (worst < 0) return;
  lose({.rank = worst,
        .text = describe(worst, "can no longer be reached by the others"),
        .loss = true});
}

/// By their new ranks: first who has the run's files and where it was, or else who is furthest.
std::vector<Rank> Supervisor::next_team() const {
  std::vector<Rank> seats;
  for (const Seat& seat : scheduler_->seats()) {
    const bool there = seat.state == Seat::State::joined && seat.waiting &&
                       !ranks_[static_cast<size_t>(seat.rank)]->settled;
    if (there) seats.push_back(seat.rank);
  }
  const auto value = [this](Rank rank) {
    const std::optional<int64_t> step = scheduler_->seat(rank).waiting->step;
    return std::pair(step && rank == first_, step.value_or(-1));
  };
  const auto first = std::ranges::max_element(seats, {}, value);
  if (first != seats.end()) std::rotate(seats.begin(), first, first + 1);
  return seats;
}

void Supervisor::form_team(const std::vector<Rank>& seats) {
  const int64_t step = *scheduler_->seat(seats.front()).waiting->step;
  std::string goes_on = fmt::format("{} worker{} on from step {}", seats.size(),
                                    seats.size() == 1 ? " goes" : "s go", step);
  std::vector<std::string> come;
  for (const Rank rank : seats) {
    if (!scheduler_->seat(rank).in_team) come.push_back(scheduler_->seat(rank).name());
  }
  for (const Failure& loss : losses_) {
    end_.lost.push_back(loss.rank);
    note(fmt::format("{}; {}", loss.text, goes_on));
  }
  if (!come.empty()) note(fmt::format("{} joined; {}", fmt::join(come, " and "), goes_on));
  if (losses_.empty() && come.empty()) note(fmt::format("the network was cut; {}", goes_on));
  losses_.clear();
  regrouping_.reset();
  asked_to_regroup_ = false;
  if (seats.front() != first_) let_first_speak(seats.front());
  scheduler_->form_team(seats);
  if (end_.interrupted) scheduler_->stop();
  end_.teams = scheduler_->team();
}

// What rank 0 prints is what the run has to say.
void Supervisor::let_first_speak(Rank seat) {
  RankProcess& before = *ranks_[static_cast<size_t>(first_)];
  RankProcess& now = *ranks_[static_cast<size_t>(seat)];
  const std::string prefix = fmt::format("[{}] ", scheduler_->seat(first_).name());
  for (RankOutput* output : {&before.output, &before.error}) output->show(prefix, false);
  for (RankOutput* output : {&now.output, &now.error}) output->show("", true);
  first_ = seat;
}

void Supervisor::give_up_team(size_t left) {
  std::string why = losses_.empty() ? "the ranks no longer reach each other" : losses_.front().text;
  if (left > 0 && static_cast<int>(left) < options_.min_workers) {
    why += fmt::format("; {} worker{} left, and --min-workers asks for {}", left,
                       left == 1 ? " is" : "s are", options_.min_workers);
  }
  end_all(why, kExitFailed);
}

void Supervisor::look_for_replacements() {
  if (!options_.replace_lost || !scheduler_->all_joined() || end_.interrupted) return;
  for (Rank rank = 0; rank < static_cast<Rank>(ranks_.size()); ++rank) {
    Replacing& replacing = replacing_[static_cast<size_t>(rank)];
    const bool gone = ranks_[static_cast<size_t>(rank)]->process.ended().has_value();
    if (!replacing.at || regrouping_ || !gone || Clock::now() < *replacing.at) continue;
    replacing.at.reset();
    ++replacing.times;
    scheduler_->expect(rank);
    try {
      start_rank(options_.placements[static_cast<size_t>(rank)]);
    } catch (const RunError& error) {
      lose({.rank = rank, .text = describe(rank, error.what())});
    }
  }
  if (asked_to_regroup_ || regrouping_ || !has_begun()) return;
  bool there = false, coming = false, patient = true;
  for (const Seat& seat : scheduler_->seats()) {
    if (seat.in_team || ranks_[static_cast<size_t>(seat.rank)]->settled) continue;
    const bool waits = seat.state == Seat::State::joined;
    there = there || waits;
    coming = coming || !waits;
    patient = patient && !(waits && Clock::now() - seat.since >= kGather);
  }
  if (!there || (coming && patient)) return;
  asked_to_regroup_ = true;
  scheduler_->ask_to_regroup();
}

}  // namespace syrtos::launch
