#include "syrtos/api/rank.h"

#include <unistd.h>

#include <utility>

#include "syrtos/api/rank_work.h"
#include "syrtos/api/task.h"
#include "syrtos/base/log.h"
#include "syrtos/launch/token.h"

namespace syrtos::api {

namespace {

constexpr auto kInputTimeout = std::chrono::seconds(10);

}  // namespace

JoinedRank::JoinedRank(const std::string& word, std::function<void()> end_process)
    : invitation_(launch::parse_invitation(word)),
      token_(launch::read_token(STDIN_FILENO, kInputTimeout)),
      task_(launch::read_task(STDIN_FILENO, kInputTimeout)),
      end_process_(std::move(end_process)) {
  name_log(invitation_.rank, invitation_.host);
}

bool JoinedRank::run(const Work& work) {
  world::Listener listener(invitation_.address);
  launch::JoinOptions join;
  join.invitation = invitation_;
  join.token = token_;
  join.port = listener.port();
  join.input = STDIN_FILENO;
  join.overdue = end_process_;
  const std::unique_ptr<launch::Membership> membership = launch::join(join);
  const launch::Assignment& assignment = membership->assignment();
  membership->report("connecting to the other ranks");
  world::TcpOptions options;
  options.rank = assignment.rank;
  options.token = assignment.token;
  for (const launch::Member& member : assignment.members) {
    options.members.push_back({member.host, member.address, member.port});
  }
  try {
    world::TcpWorld world(std::move(options), std::move(listener));
    work(world, *membership);
  } catch (const world::PeerLost& error) {
    membership->blame(error.rank());
    return false;
  }
  membership->leave();
  return true;
}

bool train_as_rank(JoinedRank& self, const Surroundings& surroundings, const RankHooks& hooks,
                   const job::Own& own) {
  const launch::Invitation& invitation = self.invitation();
  TrainRequest request = parse_task(self.task());
  request.own = own;
  if (request.job.threads == 0) request.job.threads = invitation.cores;
  RankWork work(request, invitation.rank, surroundings);
  return self.run([&](world::TcpWorld& world, launch::Membership& membership) {
    const auto should_stop = [&] {
      return membership.stop_requested() || surroundings.should_stop();
    };
    work.run(world, hooks, should_stop, &membership, {});
  });
}

}  // namespace syrtos::api
