#include "syrtos/launch/supervisor.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>
#include <csignal>

#include <algorithm>
#include <cstdlib>

#include "syrtos/base/format.h"
#include "syrtos/base/log.h"
#include "syrtos/base/secret.h"
#include "syrtos/launch/invitation.h"
#include "syrtos/launch/wait.h"

namespace syrtos::launch {

namespace {

constexpr auto kTick = std::chrono::milliseconds(100);  // between two looks at should_stop()
constexpr auto kTerm = std::chrono::seconds(3);         // from being told to being killed
constexpr int kMostJoining = 8;                         // on a host: sshd turns away more at a time
constexpr size_t kStartedAtOnce =
    4;  // ranks are started between two looks at those that wait for us

double in_seconds(std::chrono::milliseconds time) {
  return std::chrono::duration<double>(time).count();
}

}  // namespace

Supervisor::Supervisor(const LaunchOptions& options)
    : options_(options),
      printer_(options.write
                   ? options.write
                   : [this](Stream stream, std::string_view text) { print(stream, text); },
               {options.columns[0] > 0, options.columns[1] > 0}),
      routes_(find_routes(options.hosts)),
      replacing_(options.placements.size()),
      missed_again_(options.placements.size()) {
  scheduler_ =
      std::make_unique<Scheduler>(options.remote ? "" : "127.0.0.1", options.port, random_token(),
                                  options.placements, options.hosts, options.patience);
}

// The ranks have no time to wait for a terminal.
void Supervisor::print(Stream stream, std::string_view text) {
  output_.post([stream, text = std::string(text)] { write_to_own_streams(stream, text); });
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
      look_at_team();
      look_for_replacements();
    }
    look_at_time();
  }
  if (!over_ && !failures_.empty()) judge();  // all have ended before it was time to
  if (end_.failure.empty()) {
    for (const auto& rank : ranks_) rank->error.print_complaint();
  }
  if (end_.code == 0) {
    const Ending first = *ranks_[static_cast<size_t>(first_)]->process.ended();
    const bool one_of_ours = first.signal == 0 && first.code <= kExitRequest;
    end_.code = one_of_ours ? first.code : kExitFailed;
  }
  return std::move(end_);
}

Process Supervisor::start(const Placement& placement) {
  const auto host = static_cast<size_t>(placement.host);
  const Invitation invitation{.rank = placement.rank,
                              .role = placement.role,
                              .cores = placement.cores,
                              .processes = static_cast<int>(std::ranges::count(
                                  options_.placements, placement.host, &Placement::host)),
                              .host = options_.hosts[host].name,
                              .address = routes_.ranks[host],
                              .scheduler_address = routes_.scheduler[host],
                              .scheduler_port = scheduler_->port(),
                              .output_columns = options_.columns[0],
                              .error_columns = options_.columns[1],
                              .patience = options_.patience,
                              .encrypted = options_.encrypted};
  std::vector<std::string> command = options_.command;
  command.insert(command.end(), {kJoinOption, to_word(invitation)});
  if (options_.remote) command = remote_command(*options_.remote, options_.hosts[host], command);
  log_info("starting {} with {} cores: {}", scheduler_->seat(placement.rank).name(),
           placement.cores, fmt::join(command, " "));
  Process process(command);
  process.tell(scheduler_->token() + "\n" + options_.task + "\n");
  return process;
}

bool Supervisor::may_start(const Placement& placement) const {
  int joining = 0;
  for (size_t rank = 0; rank < ranks_.size(); ++rank) {
    if (options_.placements[rank].host == placement.host &&
        scheduler_->seats()[rank].state == Seat::State::expected) {
      ++joining;
    }
  }
  // Of this machine's own as many as have cores to prepare themselves.
  return joining < (options_.remote ? kMostJoining : std::max(kMostJoining, 2 * cores_));
}

void Supervisor::start_more() {
  const size_t most = ranks_.size() + kStartedAtOnce;
  while (ranks_.size() < std::min(most, options_.placements.size()) &&
         may_start(options_.placements[ranks_.size()])) {
    const Placement& placement = options_.placements[ranks_.size()];
    ranks_.push_back(nullptr);
    start_rank(placement);
    join_by_ = Clock::now() + options_.join_timeout;
  }
}

void Supervisor::start_rank(const Placement& placement) {
  const bool first = placement.rank == first_;
  const std::string prefix =
      first ? "" : fmt::format("[{}] ", scheduler_->seat(placement.rank).name());
  ranks_[static_cast<size_t>(placement.rank)] = std::make_unique<RankProcess>(
      RankProcess{.process = start(placement),
                  .output = RankOutput(printer_, Stream::output, prefix, first),
                  .error = RankOutput(printer_, Stream::error, prefix, first)});
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
    if (rank->process.has_more_to_tell()) {
      events.push_back({.fd = rank->process.input.get(), .events = POLLOUT, .revents = 0});
    }
  }
  poll(events.data(), events.size(), milliseconds_until(until));
}

void Supervisor::forward() {
  for (const auto& rank : ranks_) {
    rank->process.tell_rest();
    const bool ended = rank->process.ended().has_value();  // then all it said is in the pipes
    const auto pass_on = [ended](Descriptor& from, RankOutput& to) {
      if (!from.valid() || (to.read_from(from.get()) && !ended)) return;
      to.finish();
      from.close();
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
  log_info("ending all ranks: {}", why);
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

/// How long a rank may take to join. Processes of this machine that have not ended will do so when
/// it lets them: it may be busy with others.
std::chrono::milliseconds Supervisor::to_join() const {
  constexpr int kTimes = 3;
  return options_.remote ? options_.join_timeout : kTimes * options_.join_timeout;
}

/// "; this machine is busy: ..." where that may be why its processes are late.
std::string Supervisor::load_text() const {
  double load = 0;
  if (options_.remote || getloadavg(&load, 1) != 1 || load <= cores_) return {};
  return fmt::format("; this machine is busy: {:.0f} processes want its {} core{}, try again later",
                     load, cores_, cores_ == 1 ? "" : "s");
}

std::string Supervisor::missing() const {
  std::vector<std::string> names;
  for (const Seat& seat : scheduler_->seats()) {
    if (seat.state == Seat::State::expected) names.push_back(seat.name());
  }
  return fmt::format(
      "{} did not join within {}; see what it printed, and that its host reaches {}:{}{}",
      fmt::join(names, ", "), format_duration(in_seconds(to_join())),
      fmt::join(routes_.scheduler, " or "), scheduler_->port(), load_text());
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
  // Who waits for its turn to prepare itself is not late.
  for (const Seat& seat : scheduler_->seats()) {
    if (seat.state == Seat::State::joined) {
      join_by_ = std::max(join_by_, seat.since + options_.join_timeout);
    }
  }
  if (!over_ && !scheduler_->all_joined() && now >= join_by_ - options_.join_timeout + to_join()) {
    end_all(missing(), kExitFailed);
  }
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
