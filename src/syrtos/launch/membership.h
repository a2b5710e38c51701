#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "syrtos/base/clock.h"
#include "syrtos/base/error.h"
#include "syrtos/launch/channel.h"
#include "syrtos/launch/invitation.h"

namespace syrtos::launch {

struct Member {
  Rank seat = 0;  ///< the number that people know its process by, whatever its rank is
  Role role = Role::worker;
  std::string host;
  std::string address = {};
  uint16_t port = 0;
};

/// Who is where: `members` by rank. Teams follow each other where members are lost or come; in each
/// the ranks are numbered anew.
struct Assignment {
  int team = 1;
  Rank rank = 0;
  std::vector<Member> members;
  std::string token;
  std::vector<Member> lost = {};  ///< of the team before: seat and host
};

/// Nothing was heard of the launcher for too long: it is gone, or this rank is cut off.
class LauncherGone : public RunError {
 public:
  using RunError::RunError;
};
/// The exit code of a rank's process after that. A launcher that still lives counts it as lost.
constexpr int kCutOff = 75;

/// What a rank says that has left its team and can be in the next one.
struct Waiting {
  uint16_t port = 0;  ///< on which it listens
  std::optional<int64_t> step =
      {};            ///< that it can go on from; nothing: others must bring it there
  Rank misses = -1;  ///< the rank of the team that it no longer reached
};

struct JoinOptions {
  Invitation invitation;
  std::string token;
  uint16_t port = 0;  ///< on which this rank listens already, at invitation.address
  std::chrono::milliseconds timeout = std::chrono::minutes(15);  ///< until all have joined
  /// Until the scheduler answers. A launcher's listens before any rank is started: more patience is
  /// for a flood of strangers.
  std::chrono::milliseconds reach_timeout = std::chrono::seconds(10);
  /// Closed by the launcher's end; -1: not watched. Nothing may be read from it elsewhere.
  int input = -1;
  /// Asked some times a second while the others are awaited; may be empty. When it says so, join()
  /// throws RunError.
  std::function<bool()> should_stop = {};
  /// Why this rank will not take part: join() tells it to the scheduler and returns nullptr, or
  /// throws when that cannot be reached. Empty: it takes part.
  std::string refuses = {};
  /// Called on the membership's own thread when all is over: the launcher is gone, or another rank
  /// was lost. From then on the program has `grace` to end in its own way.
  std::function<void(const std::string& why)> ended;
  /// Called on the same thread when this is still a member after that time. Other threads may hang
  /// in anything: a program that must not outlive its launcher ends itself here, at once and
  /// without destructors.
  std::function<void()> overdue;
  std::chrono::milliseconds grace = std::chrono::milliseconds(1000);
};

/// How a rank's process begins:
///
///   const Invitation invitation = parse_invitation(word);             // after --join
///   const std::string token = read_token(STDIN_FILENO, timeout);
///   listens at invitation.address, on any port
///   const auto membership = join({.invitation = invitation, .token = token, .port = port,
///                                 .input = STDIN_FILENO, .overdue = [] { _exit(1); }});
///   connects to the others by membership->assignment(), trains, reports
///   membership->leave();                                              // if all went well
///
/// A rank's living connection to the scheduler. A thread watches it, so that the program learns
/// when everything is to end, whatever its other threads do. All calls are safe from any thread.
class Membership {
 public:
  /// `further`: messages that came together with the assignment.
  Membership(const JoinOptions& options, Channel channel, Assignment assignment,
             std::vector<nlohmann::json> further);
  Membership(const Membership&) = delete;
  Membership& operator=(const Membership&) = delete;
  /// Without leave() the scheduler takes this for a loss.
  ~Membership();

  const Assignment& assignment() const { return assignment_; }
  /// Waits for the next team, which becomes the assignment. For the thread that asks for it. Throws
  /// RunError when there will be none.
  const Assignment& next_team(const Waiting& waiting);
  /// The launcher asks all to leave their team in good order, because others come.
  bool regroup_requested() const { return regroup_requested_; }
  /// The launcher asks for an end in good order (Ctrl-C; to servers also: no worker is left).
  bool stop_requested() const { return stop_requested_; }
  /// What the rank is doing, "step 17, all-reduce of bucket 3": said when it is lost. Cheap; the
  /// newest is sent some ten times a second.
  void report(std::string doing);
  /// The work itself has begun here: everybody is connected and has what it needs. Said by rank 0;
  /// from then on a worker may be lost, where that is tolerated.
  /// Returns when it is on its way.
  void begun();
  /// This rank fails because it no longer reaches that one: so the launcher names the right one.
  void blame(Rank lost) { blamed_ = lost; }
  /// The run goes on without that one. Said by rank 0.
  void misses(Rank lost);
  /// Says that this rank is done; to be called once, when all went well.
  void leave();

 private:
  void watch();
  void watch_until_over();
  bool receive();
  bool handle(const std::vector<nlohmann::json>& messages);
  void send_report();
  void end(const std::string& why);
  void finish();

  const JoinOptions options_;
  Assignment assignment_;
  Channel channel_;  // of the thread
  Descriptor wake_;  // the owner wants something of the thread
  std::atomic<bool> stop_requested_ = false;
  std::atomic<bool> regroup_requested_ = false;
  std::atomic<bool> leaving_ = false;
  std::atomic<bool> finished_ = false;
  std::atomic<bool> begun_ = false;
  std::atomic<bool> begun_told_ = false;
  std::atomic<Rank> blamed_ = -1;
  std::mutex mutex_;
  std::string doing_;               // under the mutex
  bool news_ = false;               // under the mutex
  std::vector<Rank> missed_;        // under the mutex
  std::optional<Waiting> waiting_;  // under the mutex: to be said
  std::optional<Assignment> next_;  // under the mutex
  std::string over_;                // under the mutex: why nothing more comes
  std::condition_variable changed_;
  Clock::time_point said_;               // of the thread: when it sent something last
  std::vector<nlohmann::json> further_;  // of the thread
  std::thread thread_;
};

/// What the scheduler says of a team, for the process on that seat. Throws json::exception.
Assignment parse_assignment(const nlohmann::json& message, Rank seat, const std::string& token);

/// Joins and waits until all have. Throws RunError: nobody answers, the token is wrong, a rank is
/// missing, or the launcher ends.
std::unique_ptr<Membership> join(const JoinOptions& options);

}  // namespace syrtos::launch
