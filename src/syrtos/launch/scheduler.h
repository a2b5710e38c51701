#pragma once

#include <list>
#include <optional>
#include <string>
#include <vector>

#include "syrtos/base/clock.h"
#include "syrtos/launch/channel.h"
#include "syrtos/launch/invitation.h"
#include "syrtos/launch/membership.h"
#include "syrtos/launch/placement.h"
#include "syrtos/world/socket.h"

namespace syrtos::launch {

/// What the scheduler knows about a rank.
struct Seat {
  enum class State {
    expected,
    joined,
    left,  ///< it said that it was done
    lost,  ///< the connection ended without a word
  };

  Rank rank = 0;
  Role role = Role::worker;
  std::string host;
  State state = State::expected;
  Clock::time_point since = Clock::now();  ///< of the state
  std::string address;
  uint16_t port = 0;
  int64_t process = 0;
  std::string doing;                             ///< the rank's last report
  bool begun = false;                            ///< it said so
  Rank blames = -1;                              ///< the rank whose loss it reported
  std::string refuses = {};                      ///< why it will not take part
  std::optional<Waiting> waiting = {};           ///< for the next team; what it misses is a seat
  bool in_team = false;                          ///< of the current one
  std::optional<Clock::time_point> missed = {};  ///< since rank 0 goes on without it
  Clock::time_point heard = Clock::now();        ///< when something came from it last

  /// "rank 2 on c".
  std::string name() const;
};

/// Tells everyone who is where, once all have joined, and again for each team after the first; then
/// holds a connection to each, through which it hears that a rank is gone and the ranks hear that
/// all is to end, or that the scheduler is gone. Strangers are dropped: whoever has not proven
/// within seconds that it knows the token.
///
/// It lives in the launcher's process and never blocks. Belongs to one thread.
class Scheduler {
 public:
  /// Listens at once; an empty address: on all of this machine's. Port 0: any.
  Scheduler(const std::string& address, uint16_t port, std::string token,
            const std::vector<Placement>& placements, const std::vector<Host>& hosts,
            int patience = kDefaultPatience);

  uint16_t port() const { return listener_.port(); }
  const std::string& token() const { return token_; }
  /// Can be read (poll) when step() has something to do; it also wants to be called some times a
  /// second.
  int descriptor() const { return events_.get(); }
  void step();

  const std::vector<Seat>& seats() const { return seats_; }
  const Seat& seat(Rank rank) const { return seats_[static_cast<size_t>(rank)]; }
  /// All were there once, and the first team was formed.
  bool all_joined() const { return team_ > 0; }
  /// The number of the current team; 0: there is none yet.
  int team() const { return team_; }
  /// Tells these, in the order of their new ranks, who is in the next team. Each of them waits.
  void form_team(const std::vector<Rank>& seats);
  /// Asks the members of the team to leave it in good order, and to wait for the next one.
  void ask_to_regroup();
  /// A new process is about to take a seat that was lost.
  void expect(Rank rank);
  int strangers_refused() const { return strangers_refused_; }

  /// Asks all to come to an end in good order.
  void stop();
  /// Asks one to.
  void stop(Rank rank);
  /// Tells all that everything is over, and why.
  void end(const std::string& why);
  /// Tells one that it is over for it.
  void end(Rank rank, const std::string& why);

 private:
  struct Connection {
    Channel channel;
    Clock::time_point since = Clock::now();
    Rank rank = -1;  // none yet
    bool writing = false;
  };
  using Connections = std::list<Connection>;

  void accept_all();
  void serve(Connection& connection);
  void handle(Connection& connection, const nlohmann::json& message);
  void admit(Connection& connection, const nlohmann::json& message);
  Rank seat_of(Rank rank) const;
  void take_waiting(Seat& seat, const nlohmann::json& message);
  void set_state(Rank rank, Seat::State state);
  void say(Connection& connection, const nlohmann::json& message);
  void say_to_all(const nlohmann::json& message);
  void want_write(Connection& connection);
  void drop(Connection& connection);
  void drop_strangers();

  std::string token_;
  Descriptor events_;
  world::Listener listener_;
  std::vector<Seat> seats_;
  Connections connections_;
  const double lost_after_;
  int strangers_ = 0;  // of the connections
  int strangers_refused_ = 0;
  int team_ = 0;
  std::vector<Rank> members_;  // seats of the current team, by rank
};

}  // namespace syrtos::launch
