#pragma once

#include <deque>
#include <functional>
#include <vector>

#include "syrtos/world/sim/network.h"
#include "syrtos/world/sim/options.h"

namespace syrtos::world {

/// Cuts of the network, as they come and go.
class Partitions {
 public:
  Partitions(const SimFaults& faults, size_t hosts, TimerHeap& events, const double& now,
             std::function<void()> changed);

  /// Sets the cuts that are still to come.
  void start();
  /// Nothing crosses between these hosts now.
  bool cut(int a, int b) const;
  /// They have been cut off from each other for too long.
  bool severed(int a, int b) const;
  /// When what happens at `at` on one of these hosts can first leave for the other.
  double passes(int a, int b, double at) const;

 private:
  struct Cut final : SimEvent {
    explicit Cut(Partitions& owner) : partitions(owner) {}
    void fire() override { partitions.advance(*this); }
    bool between(int a, int b) const {
      return inside[static_cast<size_t>(a)] != inside[static_cast<size_t>(b)];
    }

    Partitions& partitions;
    std::vector<bool> inside;
    double from = 0;
    double until = 0;
    bool open = false;
    bool severed = false;
  };
  void advance(Cut& cut);

  const double lost_after_;
  TimerHeap& events_;
  const double& now_;
  const std::function<void()> changed_;
  std::deque<Cut> cuts_;  // by their beginning
};

}  // namespace syrtos::world
