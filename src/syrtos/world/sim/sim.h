#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "syrtos/world/cluster.h"
#include "syrtos/world/sim/options.h"

namespace syrtos::world {

class Simulation;
class SimWorld;

/// What a simulated cluster did so far. Bytes are those of messages with their overhead.
struct SimStatistics {
  struct Host {
    double bytes_out = 0;
    double bytes_in = 0;
    double computing_seconds = 0;    ///< of all its ranks
    double moving_core_seconds = 0;  ///< that moving bytes cost
  };
  struct Switch {
    double bytes_up = 0;
    double bytes_down = 0;
  };
  std::vector<Host> hosts;
  std::vector<Switch> switches;
  uint64_t events = 0;  ///< operations that began, and events
  uint64_t trace = 0;   ///< a hash of what happened when
};

/// Ranks on simulated hosts, in virtual time: one thread, no clock, and the same for the same
/// options. The rules:
/// - A message flows from its start until its last byte has left, as fast as its links allow: the
///   sender's upwards, the receiver's downwards, those of switches in between. Flows share every
///   direction of a link max-min fairly (network.h). It arrives one latency after its last byte
///   has left.
/// - send() is done when the last byte has left, recv() when the message has arrived. A message
///   that nobody waits for waits. Whoever sends to itself sends at once.
/// - Between two ranks one message flows at a time, by priority, then in order (channel.h).
/// - Pool work of a rank is done one at a time; Where::here keeps the rank from starting or
/// noticing
///   anything else meanwhile (sim_world.h). Work really runs, at the end of its time, if data are
///   carried. Cancelled work still takes its time.
/// - Computing and moving bytes share a host's cores (processor.h).
/// - A rank that ended is lost to the others one latency later, after what it sent.
/// - If nobody can go on, virtual time passes and the first deadline ends it.
class SimCluster final : public Cluster {
 public:
  explicit SimCluster(SimOptions options);
  ~SimCluster() override;

  int size() const override { return static_cast<int>(worlds_.size()); }
  /// Virtual time goes on from one run to the next; messages that nobody received do not.
  std::vector<std::exception_ptr> run(const RankProgram& program) override;

  /// Virtual seconds.
  double now() const;
  World& world(Rank rank);
  SimStatistics statistics() const;
  /// The rank's program ends here and now, as by a crash. It must not be the one that calls.
  void lose(Rank rank);

 private:
  struct Member;
  struct Crashing;
  bool step();
  bool take_ended();
  void give_up(std::string_view why);
  void end(Rank rank, std::string_view why);
  static Task<> lead(SimCluster& cluster, Rank rank, const RankProgram& program);

  std::unique_ptr<Simulation> simulation_;
  std::vector<std::unique_ptr<SimWorld>> owned_;
  std::vector<SimWorld*> worlds_;
  std::vector<Member> members_;
  std::vector<Rank> ended_;  // whose program came to its end
  int running_ = 0;
};

}  // namespace syrtos::world
