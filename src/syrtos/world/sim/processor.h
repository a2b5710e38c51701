#pragma once

#include <vector>

#include "syrtos/world/sim/network.h"
#include "syrtos/world/sim/options.h"

namespace syrtos::world {

class Processor;

/// A piece of computing.
class Load : public SimEvent {
 public:
  virtual void done() = 0;
  bool active() const { return processor_ != nullptr; }

 private:
  friend class Processor;
  void fire() override;

  Processor* processor_ = nullptr;
  double cores_ = 0;  // that it keeps busy at full speed
  double left_ = 0;   // seconds at full speed, at `since_`
  double rate_ = 0;
  double since_ = 0;
  double began_ = 0;
};

/// The cores of a host, shared as an operating system shares them between threads. Loads keep their
/// cores busy; each rank that moves bytes counts as one core more. While there are enough cores
/// nobody notices. Otherwise moving bytes may take the idle cores, or its share of all cores by
/// that count if this is more; loads share what it leaves, all slowed down alike.
///
/// For the flows, the cores are one more link of the network, whose capacity is counted in cores.
class Processor {
 public:
  Processor(const SimHost& host, Network& network, TimerHeap& events, const double& now);

  int link() const { return link_; }
  double busy_seconds() const { return busy_seconds_; }  ///< of loads that ended

  void start(Load& load, double seconds, double cores);
  void stop(Load& load);
  /// A rank begins (1) or ceases (-1) to move bytes.
  void moving(int change);
  /// The network has settled: loads get what flows leave.
  void settle();

 private:
  friend class Load;
  void remove(Load& load);
  void limit_flows();

  Network& network_;
  TimerHeap& events_;
  const double& now_;
  const double cores_;
  const int link_;
  std::vector<Load*> loads_;
  double computing_ = 0;  // cores that the loads would keep busy
  int moving_ = 0;
  double busy_seconds_ = 0;
};

}  // namespace syrtos::world
