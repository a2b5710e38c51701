// Which ranks failed, which of them the run can go on without, and which is the cause.

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <csignal>

#include <algorithm>
#include <map>

#include "syrtos/launch/supervisor.h"

namespace syrtos::launch {

namespace {

// Ranks fail because another has: those that come to light together are judged together.
constexpr auto kJudgement = std::chrono::milliseconds(200);
// A process whose connection broke may be about to end, and its end says more; and the other way
// round.
constexpr auto kBroken = std::chrono::milliseconds(700);
constexpr auto kEnded = std::chrono::milliseconds(300);
// Of a rank that others miss, the end may come to light later than theirs: on a busy machine a
// process that was killed takes its time.
constexpr auto kWitness = std::chrono::milliseconds(3000);
// One that is being ended is waited for: its end will say by what.
constexpr auto kEnding = std::chrono::milliseconds(10000);
// A rank says something every second.
constexpr auto kSilent = std::chrono::milliseconds(2500);

}  // namespace

std::string Supervisor::name_of(Rank rank) const {
  const Seat& seat = scheduler_->seat(rank);
  const int64_t process =
      options_.remote ? seat.process : ranks_[static_cast<size_t>(rank)]->process.id();
  return fmt::format("{} ({}{})", seat.name(), to_string(seat.role),
                     process > 0 ? fmt::format(", process {}", process) : "");
}

std::string Supervisor::describe(Rank rank, const std::string& what) const {
  const Seat& seat = scheduler_->seat(rank);
  return fmt::format("{} {}{}", name_of(rank), what,
                     seat.doing.empty() ? "" : fmt::format("; its last report: {}", seat.doing));
}

// What a process said last, on its error output or over its connection, tells why it ended.
bool Supervisor::has_said_all(RankProcess& process, const Seat& seat) const {
  if (!process.ended_at) process.ended_at = Clock::now();
  return !process.process.error.valid() &&
         (seat.state != Seat::State::joined || Clock::now() - *process.ended_at >= kEnded);
}

std::optional<Supervisor::Failure> Supervisor::trouble_of(Rank rank) {
  RankProcess& process = *ranks_[static_cast<size_t>(rank)];
  const Seat& seat = scheduler_->seat(rank);
  if (process.settled) return std::nullopt;
  const std::optional<Ending> here = process.process.ended();
  if (!here) {
    if (seat.state != Seat::State::lost) return std::nullopt;
    const auto broken = Clock::now() - seat.since;
    if (broken < (process.process.is_ending() ? kEnding : kBroken)) return std::nullopt;
    process.settled = true;
    return Failure{.rank = rank, .text = describe(rank, "no longer answers"), .loss = true};
  }
  if (!has_said_all(process, seat)) return std::nullopt;
  process.settled = true;
  const Ending ending = options_.remote ? remote_ending(*here) : *here;
  if (ending.good() && scheduler_->all_joined()) return std::nullopt;
  if (end_.interrupted && ending.signal == 0) return std::nullopt;  // it was asked to end
  if (options_.remote && ending.code == kRemoteShellFailed) {
    return Failure{.rank = rank,
                   .text = describe(rank, "can no longer be reached: the remote shell failed"),
                   .ending = ending,
                   .loss = true};
  }
  if (ending.code == kCutOff) {
    return Failure{.rank = rank,
                   .text = describe(rank, "was cut off: it no longer heard of the launcher"),
                   .ending = ending,
                   .loss = true};
  }
  const char* when = !scheduler_->all_joined()                 ? " before all ranks had joined"
                     : scheduler_->team() == 1 && !has_begun() ? " before the training had begun"
                                                               : "";
  const bool starved =
      !options_.remote && ending.signal == SIGKILL && memory_kills() > memory_kills_;
  const char* why = starved ? ", because memory was used up: use fewer ranks on this machine, a "
                              "smaller --batch, or a smaller network"
                            : "";
  return Failure{.rank = rank,
                 .text = describe(rank, ending.text() + when + why),
                 .ending = ending,
                 .loss = ending.signal != 0,
                 .starved = starved};
}

// Rank 0 has made a step: everybody is connected, and has the first weights.
bool Supervisor::has_begun() const { return scheduler_->seat(first_).begun; }

bool Supervisor::may_be_lost(Rank rank) const {
  return options_.tolerate_lost_workers && rank != first_ && has_begun() &&
         scheduler_->seat(rank).role == Role::worker;
}

// Who only suffers from the loss of one that is needed is not what the run failed from.
bool Supervisor::may_go_on_after(const Failure& failure) const {
  const Rank blamed = scheduler_->seat(failure.rank).blames;
  return may_be_lost(failure.rank) &&
         (failure.ending.signal != 0 || blamed < 0 || may_be_lost(blamed));
}

// Rank 0 waits no longer for one that is stopped, or cut off, and may wake up in the middle of what
// goes on without it.
void Supervisor::look_for_missed() {
  for (Rank rank = 0; rank < static_cast<Rank>(ranks_.size()); ++rank) {
    RankProcess& process = *ranks_[static_cast<size_t>(rank)];
    const auto missed = scheduler_->seat(rank).missed;
    if (!missed || process.settled || process.process.ended() || !may_be_lost(rank)) continue;
    // It may have been killed: its end says more.
    if (Clock::now() - *missed < (process.process.is_ending() ? kEnding : kWitness)) continue;
    process.settled = true;
    end_.lost.push_back(rank);
    note(fmt::format("{}; the run goes on without it", describe(rank, "no longer answers")));
    scheduler_->end(rank, "the others go on without this rank: it did not answer");
    process.process.signal(SIGKILL);
  }
}

void Supervisor::look_for_trouble() {
  look_for_missed();
  for (Rank rank = 0; rank < static_cast<Rank>(ranks_.size()); ++rank) {
    std::optional<Failure> trouble = trouble_of(rank);
    if (!trouble) continue;
    if (may_go_on_after(*trouble)) {
      end_.lost.push_back(rank);
      note(fmt::format("{}; the run goes on without it", in_own_words(*trouble)));
      ranks_[static_cast<size_t>(rank)]->process.signal(SIGKILL);
      continue;
    }
    if (may_regroup(*trouble)) {
      lose(std::move(*trouble));
      continue;
    }
    failures_.push_back(std::move(*trouble));
    if (judge_at_) continue;
    first_failure_ = Clock::now();
    judge_at_ = first_failure_ + kJudgement;
  }
}

// What a rank said itself says most.
std::string Supervisor::in_own_words(const Failure& failure) const {
  const std::string& complaint = ranks_[static_cast<size_t>(failure.rank)]->error.complaint();
  if (failure.ending.signal != 0 || complaint.empty()) return failure.text;
  return fmt::format("{}: {}", name_of(failure.rank), complaint);
}

// Whoever fails says whom it misses, and that one may miss another: the end of the chain is the
// cause. Of a circle it is the one of whom nothing was heard for the longest time.
Rank Supervisor::culprit_of(Rank witness) const {
  std::vector<Rank> chain = {witness};
  for (;;) {
    const Rank next = scheduler_->seat(chain.back()).blames;
    if (next < 0) return chain.back();
    const auto again = std::ranges::find(chain, next);
    if (again != chain.end()) {
      return *std::min_element(again, chain.end(), [this](Rank a, Rank b) {
        return scheduler_->seat(a).heard < scheduler_->seat(b).heard;
      });
    }
    chain.push_back(next);
  }
}

// The witnesses that lead to the same rank: of whom nothing was heard for a while, else the largest
// group.
std::vector<Rank> Supervisor::most_blamed() const {
  std::map<Rank, std::vector<Rank>> witnesses;
  for (const Failure& failure : failures_) {
    const Rank culprit = culprit_of(failure.rank);
    if (culprit != failure.rank) witnesses[culprit].push_back(failure.rank);
  }
  const auto silent = [this](Rank rank) {
    const Seat& seat = scheduler_->seat(rank);
    return seat.state == Seat::State::lost || Clock::now() - seat.heard > kSilent;
  };
  std::vector<Rank> most;
  bool most_silent = false;
  for (const auto& [lost, group] : witnesses) {
    const bool better = silent(lost) != most_silent ? silent(lost) : group.size() > most.size();
    if (!most.empty() && !better) continue;
    most = group;
    most_silent = silent(lost);
  }
  return most;
}

// Others only say that a rank is gone, and nothing was heard of it yet.
bool Supervisor::may_learn_more() const {
  for (const Failure& failure : failures_) {
    const bool explained = !ranks_[static_cast<size_t>(failure.rank)]->error.complaint().empty();
    if (failure.ending.signal != 0 || explained) return false;
  }
  const std::vector<Rank> witnesses = most_blamed();
  if (witnesses.empty()) return false;
  const RankProcess& culprit = *ranks_[static_cast<size_t>(culprit_of(witnesses.front()))];
  const auto waited = Clock::now() - first_failure_;
  return !culprit.settled && waited < (culprit.process.is_ending() ? kEnding : kWitness);
}

// Which of the failures is the cause: a process that was killed; else one that says why it failed;
// else one that others miss; else the first.
void Supervisor::judge() {
  for (const Failure& failure : failures_) {
    if (failure.ending.signal != 0) return end_all(failure.text, kExitFailed);
  }
  const auto code_of = [](const Failure& failure) {
    return failure.ending.code == kExitRequest ? kExitRequest : kExitFailed;
  };
  for (const Failure& failure : failures_) {
    if (ranks_[static_cast<size_t>(failure.rank)]->error.complaint().empty()) continue;
    return end_all(in_own_words(failure), code_of(failure));
  }
  const std::vector<Rank> witnesses = most_blamed();
  if (witnesses.empty()) return end_all(failures_.front().text, code_of(failures_.front()));
  std::vector<std::string> names;
  for (const Rank witness : witnesses) names.push_back(scheduler_->seat(witness).name());
  const Rank lost = culprit_of(witnesses.front());
  const char* verb = names.size() == 1 ? "reaches" : "reach";
  end_all(
      describe(lost, fmt::format("was lost: {} no longer {} it", fmt::join(names, " and "), verb)),
      kExitFailed);
  ranks_[static_cast<size_t>(lost)]->process.signal(SIGKILL);  // it may not hear of the end
}

}  // namespace syrtos::launch
