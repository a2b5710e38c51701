#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "syrtos/world/sim/chance.h"
#include "syrtos/world/sim/channel.h"
#include "syrtos/world/sim/network.h"
#include "syrtos/world/sim/options.h"
#include "syrtos/world/sim/partitions.h"
#include "syrtos/world/sim/processor.h"
#include "syrtos/world/world.h"

namespace syrtos::world {

/// What the ranks of a simulated cluster have in common: the clock, the hosts and their network.
class Simulation {
 public:
  explicit Simulation(SimOptions the_options);

  const SimOptions options;
  double now = 0;
  Agenda agenda;
  TimerHeap events;
  Network network{now, events};
  const Chance chance{options.faults, options.seed};
  Partitions partitions;

  const SimHost& host(int index) const { return options.hosts[static_cast<size_t>(index)]; }
  Processor& processor(int host) { return processors_[static_cast<size_t>(host)]; }

  /// One way, between the hosts.
  double latency(int from, int to) const;
  /// Makes the flow pass the links between the hosts.
  void route(Flow& flow, int from, int to);

  Channel& add_channel(SimWorld& from, SimWorld& to);
  Parcel& new_parcel();
  void free_parcel(Parcel& parcel);
  /// Forgets every message.
  void clear();

  /// The moment of what comes next, or infinity.
  double next() const;
  /// Lets the next thing happen.
  void advance();
  /// Makes rates anew, if anything changed.
  bool settle();

  /// Counts an operation or an event; false: there are too many, the run must end.
  bool count();
  uint64_t events_of_run = 0;
  uint64_t events_at_once = 0;
  uint64_t all_events = 0;

  /// Adds what happens to the trace.
  enum class Note : uint64_t { sent, arrived, computed, ended };
  void note(Note note, Rank rank, uint64_t detail);
  uint64_t trace = 0;

  int up(int host) const { return hosts_[static_cast<size_t>(host)].up; }
  int down(int host) const { return hosts_[static_cast<size_t>(host)].down; }
  int switch_up(size_t index) const { return switches_[index].up; }
  int switch_down(size_t index) const { return switches_[index].down; }

 private:
  struct Host {
    int up;
    int down;
    int memory;
    int group = -1;  // the switch that it is behind
  };
  struct Switch {
    int up;
    int down;
  };

  std::deque<Processor> processors_;
  std::vector<int> host_of_link_;  // of a processor's link, otherwise -1
  std::vector<Host> hosts_;
  std::vector<Switch> switches_;
  int backplane_ = -1;  // link
  std::deque<Channel> channels_;
  std::deque<Parcel> parcels_;
  std::vector<Parcel*> free_parcels_;
};

}  // namespace syrtos::world
