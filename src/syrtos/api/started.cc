#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <thread>

#include "syrtos/api/rank.h"
#include "syrtos/api/rank_work.h"
#include "syrtos/api/started.h"
#include "syrtos/api/team_size.h"
#include "syrtos/base/clock.h"
#include "syrtos/base/error.h"
#include "syrtos/base/host_name.h"
#include "syrtos/base/log.h"
#include "syrtos/launch/lead.h"
#include "syrtos/world/socket.h"

namespace syrtos::api {

std::string address_of_leader(const launch::StartedRank& started,
                              const std::function<bool()>& should_stop) {
  if (started.on_one_host) return launch::kThisHost;
  constexpr auto kPause = std::chrono::milliseconds(500);
  const auto end = Clock::now() + launch::kStartTimeout;
  for (;;) {
    std::string address = world::find_address(started.leader);
    if (!address.empty()) return address;
    if (should_stop()) fail_run("stopped before all ranks had joined");
    if (Clock::now() >= end) {
      fail_request(
          "{}: rank 0 is said to be on '{}', whose name has had no address here for 5 minutes",
          started.by, started.leader);
    }
    std::this_thread::sleep_for(kPause);
  }
}

launch::Invitation invitation_of(const launch::StartedRank& started, const std::string& leader,
                                 int workers, int cores, int patience) {
  launch::Invitation invitation;
  invitation.rank = started.rank;
  invitation.role = started.rank < workers ? launch::Role::worker : launch::Role::server;
  invitation.processes = started.here;
  invitation.cores = started.cores > 0 ? started.cores : std::max(1, cores / started.here);
  invitation.host = host_name();
  invitation.address = world::own_address_towards(leader);
  invitation.scheduler_address = leader;
  invitation.scheduler_port = static_cast<uint16_t>(started.port);
  invitation.patience = patience;
  return invitation;
}

void train_as_started_rank(TrainRequest request, const launch::StartedRank& started,
                           bool workers_are_asked_for, const Surroundings& surroundings,
                           const RankHooks& hooks, const std::function<void()>& end_process,
                           const OnRun& on_run) {
  request.job.workers = workers_of(request.job, started.by, started.ranks, workers_are_asked_for);
  const int workers = request.job.workers;
  const auto patience = static_cast<int>(request.job.network_patience);
  std::unique_ptr<launch::Lead> lead;
  if (started.rank == 0) {
    lead = std::make_unique<launch::Lead>(started, started.ranks - workers, patience);
  }
  const std::string leader = address_of_leader(started, surroundings.should_stop);
  launch::Invitation invitation =
      invitation_of(started, leader, workers, surroundings.cpu.cores, patience);
  invitation.encrypted = request.job.encryption != "none";
  JoinedRank self(std::move(invitation), started.token, end_process, surroundings.should_stop);
  if (request.job.threads == 0) request.job.threads = self.invitation().cores;
  std::unique_ptr<RankWork> work;
  try {
    work = std::make_unique<RankWork>(
        request, RankWork::Place{.rank = started.rank, .processes = started.here}, surroundings);
  } catch (const std::exception& error) {
    if (lead) {
      lead->end(fmt::format("rank 0 on {}: {}", self.invitation().host, error.what()));
    } else {
      self.refuse(error.what());
    }
    throw;
  }
  self.run([&](world::TcpWorld& world, launch::Membership& membership) {
    const auto should_stop = [&] {
      return membership.stop_requested() || surroundings.should_stop();
    };
    work->run(world, hooks, {.stop = should_stop, .pause = {}}, &membership, on_run);
  });
}

}  // namespace syrtos::api
