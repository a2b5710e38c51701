#include "syrtos/launch/supervisor.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>
#include <csignal>

#include <algorithm>
#include <map>

#include "syrtos/base/error.h"
#include "syrtos/base/format.h"
#include "syrtos/launch/invitation.h"
#include "syrtos/launch/sockets.h"
#include "syrtos/launch/token.h"
#include "syrtos/launch/wait.h"

namespace syrtos::launch {

namespace {

constexpr auto kTick = std::chrono::milliseconds(100);  // between two looks at should_stop()
// Ranks fail because another has: those that come to light together are judged together.
constexpr auto kJudgement = std::chrono::milliseconds(200);
// A process whose connection broke may be about to end, and its end says more; and the other way
// round.
constexpr auto kBroken = std::chrono::milliseconds(700);
constexpr auto kEnded = std::chrono::milliseconds(300);
// Of a rank that others miss, the end may come to light later than theirs: on a busy machine a
// process that was killed takes its time.
constexpr auto kWitness = std::chrono::milliseconds(700);
constexpr auto kTerm = std::chrono::seconds(3);  // from being told to being killed
constexpr int kMostJoining = 8;                  // on a host: sshd turns away more at a time
constexpr int kExitFailed = 1;
constexpr int kExitRequest = 2;

double in_seconds(std::chrono::milliseconds time) {
  return std::chrono::duration<double>(time).count();
}

// Where the ranks of each host find the scheduler and each other. A loopback address is no use to
// other hosts.
struct Routes {
  std::vector<std::string> scheduler;
  std::vector<std::string> ranks;
};

Routes find_routes(const std::vector<Host>& hosts) {
  Routes routes;
  std::string outside;
  for (const Host& host : hosts) {
    routes.ranks.push_back(host.address);
    routes.scheduler.push_back(own_address_towards(host.address));
    if (routes.scheduler.back().empty()) {
      fail_request("host {}: there is no way to its address '{}' from here", host.name,
                   host.address);
    }
    if (!is_loopback(host.address)) outside = routes.scheduler.back();
  }
  for (size_t i = 0; i < hosts.size() && !outside.empty(); ++i) {
    if (is_loopback(hosts[i].address)) routes.ranks[i] = routes.scheduler[i] = outside;
  }
  return routes;
}

}  // namespace

Supervisor::Supervisor(const LaunchOptions& options)
    : options_(options), printer_(options.write, {options.columns[0] > 0, options.columns[1] > 0}) {
  Routes routes = find_routes(options.hosts);
  scheduler_addresses_ = std::move(routes.scheduler);
  rank_addresses_ = std::move(routes.ranks);
  scheduler_ = std::make_unique<Scheduler>(options.remote ? "" : "127.0.0.1", options.port,
                                           make_token(), options.placements, options.hosts);
}

LaunchEnd Supervisor::run() {
  start_more();
  while (!all_ended()) {
    wait();
    scheduler_->step();
    forward();
    if (!over_) {
      start_more();
      look_for_trouble();
      look_at_servers();
    }
    look_at_time();
  }
  if (!over_ && !failures_.empty()) judge();  // all have ended before it was time to
  if (end_.failure.empty()) {
    for (const auto& rank : ranks_) rank->error.print_complaint();
  }
  if (end_.code == 0) {
    const Ending first = *ranks_.front()->process.ended();
    const bool one_of_ours = first.signal == 0 && first.code <= kExitRequest;
    end_.code = one_of_ours ? first.code : kExitFailed;
  }
  return std::move(end_);
}

Process Supervisor::start(const Placement& placement) {
  const auto host = static_cast<size_t>(placement.host);
  const bool first = placement.rank == 0;
  const Invitation invitation{.rank = placement.rank,
                              .role = placement.role,
                              .cores = placement.cores,
                              .host = options_.hosts[host].name,
                              .address = rank_addresses_[host],
                              .scheduler_address = scheduler_addresses_[host],
                              .scheduler_port = scheduler_->port(),
                              .output_columns = first ? options_.columns[0] : 0,
                              .error_columns = first ? options_.columns[1] : 0};
  std::vector<std::string> command = options_.command;
  command.insert(command.end(), {kJoinOption, to_word(invitation)});
  if (options_.remote) command = remote_command(*options_.remote, options_.hosts[host], command);
  Process process(command);
  process.tell(scheduler_->token() + "\n");
  return process;
}

bool Supervisor::may_start(const Placement& placement) const {
  if (!options_.remote) return true;
  int joining = 0;
  for (size_t rank = 0; rank < ranks_.size(); ++rank) {
    if (options_.placements[rank].host == placement.host &&
        scheduler_->seats()[rank].state == Seat::State::expected) {
      ++joining;
    }
  }
  return joining < kMostJoining;
}

void Supervisor::start_more() {
  while (ranks_.size() < options_.placements.size() &&
         may_start(options_.placements[ranks_.size()])) {
    const Placement& placement = options_.placements[ranks_.size()];
    const bool first = placement.rank == 0;
    const std::string prefix =
        first ? "" : fmt::format("[{}] ", scheduler_->seat(placement.rank).name());
    ranks_.push_back(std::make_unique<RankProcess>(
        RankProcess{.process = start(placement),
                    .output = RankOutput(printer_, Stream::output, prefix, first),
                    .error = RankOutput(printer_, Stream::error, prefix, first)}));
    join_by_ = Clock::now() + options_.join_timeout;
  }
}

void Supervisor::wait() {
  Clock::time_point until = Clock::now() + kTick;
  for (const auto& moment : {judge_at_, kill_at_}) {
    if (moment) until = std::min(until, *moment);
  }
  std::vector<pollfd> events = {{.fd = scheduler_->descriptor(), .events = POLLIN, .revents = 0}};
  for (const auto& rank : ranks_) {
    for (const int descriptor : {rank->process.output.get(), rank->process.error.get(),
                                 rank->process.ended() ? -1 : rank->process.handle()}) {
      if (descriptor >= 0) events.push_back({.fd = descriptor, .events = POLLIN, .revents = 0});
    }
  }
  poll(events.data(), events.size(), milliseconds_until(until));
}

void Supervisor::forward() {
  for (const auto& rank : ranks_) {
    const bool ended = rank->process.ended().has_value();  // then all it said is in the pipes
    const auto pass_on = [ended](Descriptor& from, RankOutput& to) {
      if (!from.valid() || (to.read_from(from.get()) && !ended)) return;
      to.finish();
      from.reset();
    };
    pass_on(rank->process.output, rank->output);
    pass_on(rank->process.error, rank->error);
  }
}

bool Supervisor::all_ended() {
  return (over_ || ranks_.size() == options_.placements.size()) &&
         std::ranges::all_of(ranks_, [this](const auto& rank) {
           return rank->process.ended() && !rank->process.output.valid() &&
                  !rank->process.error.valid() && (over_ || rank->settled);
         });
}

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
    if (seat.state != Seat::State::lost || Clock::now() - seat.since < kBroken) return std::nullopt;
    process.settled = true;
    return Failure{rank, describe(rank, "no longer answers"), {}};
  }
  if (!has_said_all(process, seat)) return std::nullopt;
  process.settled = true;
  const Ending ending = options_.remote ? remote_ending(*here) : *here;
  if (ending.good() && scheduler_->all_joined()) return std::nullopt;
  if (end_.interrupted && ending.signal == 0) return std::nullopt;  // it was asked to end
  if (options_.remote && ending.code == kRemoteShellFailed) {
    return Failure{rank, describe(rank, "can no longer be reached: the remote shell failed"),
                   ending};
  }
  const char* when = !scheduler_->all_joined() ? " before all ranks had joined"
                     : !has_begun()            ? " before the training had begun"
                                               : "";
  return Failure{rank, describe(rank, ending.text() + when), ending};
}

// Rank 0 has made a step: everybody is connected, and has the first weights.
bool Supervisor::has_begun() const { return scheduler_->seat(0).begun; }

bool Supervisor::may_be_lost(Rank rank) const {
  return options_.tolerate_lost_workers && rank != 0 && has_begun() &&
         scheduler_->seat(rank).role == Role::worker;
}

// Who only suffers from the loss of one that is needed is not what the run failed from.
bool Supervisor::may_go_on_after(const Failure& failure) const {
  const Rank blamed = scheduler_->seat(failure.rank).blames;
  return may_be_lost(failure.rank) &&
         (failure.ending.signal != 0 || blamed < 0 || may_be_lost(blamed));
}

void Supervisor::look_for_trouble() {
  for (Rank rank = 0; rank < static_cast<Rank>(ranks_.size()); ++rank) {
    std::optional<Failure> trouble = trouble_of(rank);
    if (!trouble) continue;
    if (may_go_on_after(*trouble)) {
      end_.lost.push_back(rank);
      note(fmt::format("{}; the run goes on without it", in_own_words(*trouble)));
      ranks_[static_cast<size_t>(rank)]->process.signal(SIGKILL);
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

// The witnesses that say of the same rank that it is gone: the largest group.
std::vector<Rank> Supervisor::most_blamed() const {
  std::map<Rank, std::vector<Rank>> witnesses;
  for (const Failure& failure : failures_) {
    const Rank lost = scheduler_->seat(failure.rank).blames;
    if (lost >= 0) witnesses[lost].push_back(failure.rank);
  }
  std::vector<Rank> most;
  for (const auto& [lost, group] : witnesses) {
    if (group.size() > most.size()) most = group;
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
  if (witnesses.empty() || Clock::now() - first_failure_ >= kWitness) return false;
  return !ranks_[static_cast<size_t>(scheduler_->seat(witnesses.front()).blames)]->settled;
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
  const Rank lost = scheduler_->seat(witnesses.front()).blames;
  const char* verb = names.size() == 1 ? "reaches" : "reach";
  end_all(
      describe(lost, fmt::format("was lost: {} no longer {} it", fmt::join(names, " and "), verb)),
      kExitFailed);
  ranks_[static_cast<size_t>(lost)]->process.signal(SIGKILL);  // it may not hear of the end
}

void Supervisor::look_at_servers() {
  if (servers_asked_ || !scheduler_->all_joined()) return;
  bool servers = false;
  for (Rank rank = 0; rank < static_cast<Rank>(ranks_.size()); ++rank) {
    const bool ended = ranks_[static_cast<size_t>(rank)]->process.ended().has_value();
    if (scheduler_->seat(rank).role == Role::worker && !ended) return;
    servers |= scheduler_->seat(rank).role == Role::server && !ended;
  }
  servers_asked_ = true;
  if (!servers) return;
  scheduler_->stop();
  kill_at_ = Clock::now() + options_.stop_timeout;
}

void Supervisor::end_all(const std::string& why, int code) {
  over_ = true;
  end_.failure = why;
  end_.code = code;
  scheduler_->end(why);
  for (const auto& rank : ranks_) {
    const Seat& seat = scheduler_->seat(static_cast<Rank>(&rank - ranks_.data()));
    // Who has not joined, or is cut off, cannot hear it.
    const bool hears = seat.state == Seat::State::joined || seat.state == Seat::State::left;
    if (!hears) rank->process.signal(SIGKILL);
  }
  kill_at_ = Clock::now() + kTerm;
}

std::string Supervisor::missing() const {
  std::vector<std::string> names;
  for (const Seat& seat : scheduler_->seats()) {
    if (seat.state == Seat::State::expected) names.push_back(seat.name());
  }
  return fmt::format(
      "{} did not join within {}; see what it printed, and that its host reaches {}:{}",
      fmt::join(names, ", "), format_duration(in_seconds(options_.join_timeout)),
      fmt::join(scheduler_addresses_, " or "), scheduler_->port());
}

void Supervisor::look_at_time() {
  const Clock::time_point now = Clock::now();
  if (!over_ && judge_at_ && now >= *judge_at_) {
    if (may_learn_more()) {
      judge_at_ = now + kTick;
    } else {
      judge();
    }
  }
  if (!over_ && !scheduler_->all_joined() && now >= join_by_) end_all(missing(), kExitFailed);
  if (!over_ && !end_.interrupted && options_.should_stop && options_.should_stop()) {
    end_.interrupted = true;
    if (scheduler_->all_joined()) {
      scheduler_->stop();
      kill_at_ = now + options_.stop_timeout;
    } else {
      end_all("interrupted before all ranks had joined", kExitFailed);
    }
  }
  if (!kill_at_ || now < *kill_at_) return;
  kill_at_.reset();
  for (Rank rank = 0; rank < static_cast<Rank>(ranks_.size()); ++rank) {
    Process& process = ranks_[static_cast<size_t>(rank)]->process;
    if (process.ended()) continue;
    if (end_.failure.empty()) {
      end_.failure =
          describe(rank, fmt::format("did not end within {} of being asked to",
                                     format_duration(in_seconds(options_.stop_timeout))));
      end_.code = kExitFailed;
    }
    process.signal(SIGKILL);
  }
  over_ = true;
}

}  // namespace syrtos::launch
