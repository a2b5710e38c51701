#include "syrtos/api/rank.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "syrtos/api/rank_work.h"
#include "syrtos/api/task.h"
#include "syrtos/base/error.h"
#include "syrtos/base/log.h"
#include "syrtos/launch/lead.h"
#include "syrtos/launch/token.h"

namespace syrtos::api {

namespace {

constexpr auto kInputTimeout = std::chrono::seconds(10);
constexpr auto kRefusalTimeout = std::chrono::seconds(10);

class TrainingInTeams final : public JoinedRank::TeamWork {
 public:
  TrainingInTeams(RankWork& work, const RankHooks& hooks, const Surroundings& surroundings)
      : work_(work), hooks_(hooks), surroundings_(surroundings) {}

  void enter(const launch::Assignment& team) override {
    const auto workers =
        std::ranges::count(team.members, launch::Role::worker, &launch::Member::role);
    work_.enter(team.team, team.rank, static_cast<int>(workers), team.lost);
  }

  bool work(world::TcpWorld& world, launch::Membership& membership) override {
    const RankWork::Wishes wishes{
        .stop = [&] { return membership.stop_requested() || surroundings_.should_stop(); },
        .pause = [&] { return membership.regroup_requested(); }};
    return work_.run(world, hooks_, wishes, &membership, {});
  }

  std::optional<int64_t> leave() override { return work_.leave(); }

 private:
  RankWork& work_;
  const RankHooks& hooks_;
  const Surroundings& surroundings_;
};

}  // namespace

JoinedRank::JoinedRank(const std::string& word, std::function<void()> end_process)
    : invitation_(launch::parse_invitation(word)),
      token_(launch::read_token(STDIN_FILENO, kInputTimeout)),
      task_(launch::read_task(STDIN_FILENO, kInputTimeout)),
      end_process_(std::move(end_process)) {
  name_log(invitation_.rank, invitation_.host);
}

JoinedRank::JoinedRank(launch::Invitation invitation, std::string token,
                       std::function<void()> end_process, std::function<bool()> should_stop)
    : invitation_(std::move(invitation)),
      token_(std::move(token)),
      has_launcher_(false),
      end_process_(std::move(end_process)),
      should_stop_(std::move(should_stop)) {
  name_log(invitation_.rank, invitation_.host);
}

launch::JoinOptions JoinedRank::join_options(uint16_t port) const {
  launch::JoinOptions join;
  join.invitation = invitation_;
  join.token = token_;
  join.port = port;
  join.should_stop = should_stop_;
  if (has_launcher_) {
    join.input = STDIN_FILENO;
  } else {
    join.reach_timeout = launch::kStartTimeout;  // rank 0 may be started last
  }
  join.overdue = end_process_;
  return join;
}

void JoinedRank::refuse(const std::string& why) {
  launch::JoinOptions join = join_options(0);
  join.reach_timeout = kRefusalTimeout;
  join.refuses = why;
  try {
    launch::join(join);
  } catch (const Error& error) {
    log_info("the others do not learn it: {}", error.what());
  }
}

world::TcpOptions JoinedRank::tcp_options(const launch::Assignment& assignment) const {
  world::TcpOptions options;
  options.rank = assignment.rank;
  options.token = assignment.token;
  options.lost_after = invitation_.lost_after();
  options.encrypted = invitation_.encrypted;
  // Each meets each, and many may share a few cores.
  options.connect_timeout += 0.5 * static_cast<double>(assignment.members.size());
  for (const launch::Member& member : assignment.members) {
    options.members.push_back({member.host, member.address, member.port, member.seat});
  }
  return options;
}

bool JoinedRank::run(const Work& work) {
  world::Listener listener(invitation_.address);
  const std::unique_ptr<launch::Membership> membership =
      launch::join(join_options(listener.port()));
  membership->report("connecting to the other ranks");
  try {
    world::TcpWorld world(tcp_options(membership->assignment()), std::move(listener));
    work(world, *membership);
  } catch (const world::PeerLost& error) {
    membership->blame(error.rank());
    if (!has_launcher_) throw;
    return false;
  }
  membership->leave();
  return true;
}

bool JoinedRank::run_in_teams(TeamWork& work) {
  std::optional<world::Listener> listener(std::in_place, invitation_.address);
  const std::unique_ptr<launch::Membership> membership =
      launch::join(join_options(listener->port()));
  for (;;) {
    const launch::Assignment& team = membership->assignment();
    name_log(team.members[static_cast<size_t>(team.rank)].seat, invitation_.host);
    work.enter(team);
    membership->report("connecting to the other ranks");
    launch::Waiting waiting;
    std::exception_ptr late;
    try {
      world::TcpWorld world(tcp_options(team), std::move(*listener));
      if (work.work(world, *membership)) break;
    } catch (const world::PeerLost& error) {
      log_info("{}", error.what());
      waiting.misses = error.rank();
    } catch (const world::DeadlinePassed& error) {
      // It is connected, and stuck: others will miss it too.
      log_info("{}", error.what());
      late = std::current_exception();
      waiting.misses = error.rank();
    } catch (const world::NotMet& error) {
      if (team.team == 1) throw;
      log_info("{}", error.what());
      waiting.misses = error.rank();
    }
    waiting.step = work.leave();
    if (late && !waiting.step && team.team == 1) std::rethrow_exception(late);
    membership->report("waiting for the next team");
    listener.emplace(invitation_.address);
    waiting.port = listener->port();
    membership->next_team(waiting);
  }
  membership->leave();
  return true;
}

bool train_as_rank(JoinedRank& self, const Surroundings& surroundings, const RankHooks& hooks,
                   const job::Own& own) {
  const launch::Invitation& invitation = self.invitation();
  TrainRequest request = parse_task(self.task());
  if (own.network) request.own.network = own.network;
  request.own.data = own.data;
  if (request.job.threads == 0) request.job.threads = invitation.cores;
  const RankWork::Place place{
      .rank = invitation.rank, .processes = invitation.processes, .in_teams = true};
  RankWork work(request, place, surroundings);
  TrainingInTeams training(work, hooks, surroundings);
  if (work.survives()) return self.run_in_teams(training);
  return self.run([&](world::TcpWorld& world, launch::Membership& membership) {
    training.work(world, membership);
  });
}

}  // namespace syrtos::api
