#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "syrtos/api/train.h"
#include "syrtos/launch/allocation.h"
#include "syrtos/launch/invitation.h"
#include "syrtos/launch/membership.h"
#include "syrtos/world/tcp/tcp.h"

namespace syrtos::api {

/// This process as a rank that a launcher started.
class JoinedRank {
 public:
  /// `word` came after --join. Reads the token and the task from the standard input. `end_process`
  /// is called, on another thread, when the launcher is gone or everything is to end and this
  /// process has not ended by itself within a second: it must not return.
  JoinedRank(const std::string& word, std::function<void()> end_process);

  /// One that no launcher of ours started, which knows both from elsewhere.
  /// `should_stop` is asked while it waits for the others.
  JoinedRank(launch::Invitation invitation, std::string token, std::function<void()> end_process,
             std::function<bool()> should_stop);

  const launch::Invitation& invitation() const { return invitation_; }
  /// What the launcher gave all ranks to do; see LaunchOptions::task.
  const std::string& task() const { return task_; }

  /// Meets the others, works and leaves. False: another rank was lost, which the launcher says
  /// once for all; without a launcher that is thrown too. Whatever else `work` throws comes
  /// through.
  using Work = std::function<void(world::TcpWorld&, launch::Membership&)>;
  bool run(const Work& work);

  /// The same in one team after the other, where members are lost or come.
  class TeamWork {
   public:
    virtual ~TeamWork() = default;
    /// Prepares for a team, before its members meet.
    virtual void enter(const launch::Assignment& team) = 0;
    /// Works in it. False: the team is to change, and all leave it in good order.
    virtual bool work(world::TcpWorld& world, launch::Membership& membership) = 0;
    /// After work() has returned false or thrown PeerLost: the step that it can go on from.
    virtual std::optional<int64_t> leave() = 0;
  };
  bool run_in_teams(TeamWork& work);

  /// Tells the others why this rank does not come, if they can be reached soon.
  void refuse(const std::string& why);

 private:
  launch::JoinOptions join_options(uint16_t port) const;
  world::TcpOptions tcp_options(const launch::Assignment& assignment) const;

  launch::Invitation invitation_;
  std::string token_;
  std::string task_;
  bool has_launcher_ = true;
  std::function<void()> end_process_;
  std::function<bool()> should_stop_ = {};
};

/// What the program of a rank does beside training; only worker 0's is asked.
struct RankHooks {
  std::function<std::unique_ptr<train::TrainObserver>()> observer;
  std::function<void(const Trained&)> finished;  ///< Before the rank leaves.
  /// Before MPI ends the whole job, this process too: why.
  std::function<void(const std::string&)> aborting;
};

/// Does the part of this rank in what launch_training() started. `own`: what the launcher's request
/// brought along, which every rank brings along itself. False as in JoinedRank::run().
bool train_as_rank(JoinedRank& self, const Surroundings& surroundings, const RankHooks& hooks,
                   const job::Own& own = {});

/// Does the part of this process in a training whose ranks something else has started
/// (launch/allocation.h), without MPI. Every rank calls it with the same request; of the job's
/// workers there are as many as there are ranks beside the servers. Throws world::PeerLost, which
/// names it, when another rank is lost.
void train_as_started_rank(TrainRequest request, const launch::StartedRank& started,
                           bool workers_are_asked_for, const Surroundings& surroundings,
                           const RankHooks& hooks, const std::function<void()>& end_process,
                           const OnRun& on_run);

/// Does the part of this process in an MPI job. Every rank calls it with the same request; of the
/// job's workers there are as many as MPI has ranks beside the servers. Throws RequestError on all
/// ranks when one of them refuses, with that rank in the message.
void train_under_mpi(TrainRequest request, bool workers_are_asked_for,
                     const Surroundings& surroundings, const RankHooks& hooks, const OnRun& on_run);

}  // namespace syrtos::api
