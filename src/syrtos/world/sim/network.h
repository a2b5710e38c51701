#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "syrtos/world/waiter.h"

namespace syrtos::world {

/// Something that happens at a moment of virtual time.
class SimEvent : public Timer {
 public:
  virtual ~SimEvent() = default;
  virtual void fire() = 0;
};

class Network;

/// Bytes on their way along a fixed path of links, all of which they use at once. The same object
/// carries one message after the other.
class Flow : public SimEvent {
 public:
  /// The last byte has left.
  virtual void sent() = 0;
  bool flowing() const { return flowing_; }
  double rate() const { return rate_; }  ///< bytes/s

  /// Adds a link to the path; a byte takes so much of its capacity.
  void pass(int link, double cost = 1);
  /// Its part of a link against those of others, from when it next starts.
  void set_weight(double weight) { weight_ = weight; }

 protected:
  explicit Flow(Network& network) : network_(network) {}

 private:
  friend class Network;
  static constexpr size_t kMostHops = 7;
  struct Hop {
    int link;
    uint32_t place;  // among the link's flows
    double cost;
  };
  void fire() override;

  Network& network_;
  std::array<Hop, kMostHops> path_ = {};
  uint32_t hops_ = 0;
  bool flowing_ = false;
  bool fixed_ = false;
  uint32_t seen_ = 0;
  double weight_ = 1;
  double left_ = 0;  // bytes, at `since_`
  double rate_ = 0;
  double since_ = 0;
};

/// Links that flows share max-min fairly, by their weights: no flow can be faster without slowing
/// down one that is not faster than itself. Rates change only where a flow began or ended, in the
/// part of the network that is connected to it by flows, and once for all that happens at one
/// moment.
class Network {
 public:
  Network(const double& now, TimerHeap& events) : now_(now), events_(events) {}

  int add_link(double capacity);
  void set_capacity(int link, double capacity);
  /// Rates of its part are made anew although nothing changed.
  void touch(int link);

  void start(Flow& flow, double bytes);
  /// Returns the bytes that have not left.
  double stop(Flow& flow);
  double left(const Flow& flow) const;

  bool settled() const { return touched_.empty(); }
  /// Makes the rates anew; afterwards `renewed` are the links whose load may be another.
  void settle();
  const std::vector<int>& renewed() const { return renewed_; }

  /// Capacity in use now.
  double load(int link) const;
  /// Capacity used so far: bytes, or whatever the link's cost counts.
  double used(int link) const { return links_[static_cast<size_t>(link)].used; }
  void clear();

 private:
  friend class Flow;
  struct Crossing {
    Flow* flow;
    uint32_t hop;
  };
  struct Link {
    double capacity;
    double used = 0;
    bool touched = false;
    uint32_t seen = 0;
    std::vector<Crossing> flows = {};
    // While rates are made:
    double left = 0;       // capacity
    double cost = 0;       // of every flow whose rate is not known yet, by its weight
    uint32_t unknown = 0;  // such flows
  };

  Link& link(int index) { return links_[static_cast<size_t>(index)]; }
  double remove(Flow& flow);
  void gather(int first);
  bool alone(const Flow& flow);
  void set_alone(Flow& flow);
  void share();
  void fix(Flow& flow, double rate);

  const double& now_;
  TimerHeap& events_;
  std::vector<Link> links_;
  std::vector<int> touched_;
  std::vector<int> renewed_;
  uint32_t round_ = 0;
  // The part of the network at hand.
  std::vector<int> part_links_;
  std::vector<Flow*> part_flows_;
  struct Share {
    double rate;
    int link;
    bool operator<(const Share& other) const {  // the smallest share is on top of the heap
      return rate > other.rate || (rate == other.rate && link > other.link);
    }
  };
  std::vector<Share> shares_;
};

}  // namespace syrtos::world
