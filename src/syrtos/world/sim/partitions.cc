#include "syrtos/world/sim/partitions.h"

#include <algorithm>

namespace syrtos::world {

Partitions::Partitions(const SimFaults& faults, size_t hosts, TimerHeap& events, const double& now,
                       std::function<void()> changed)
    : lost_after_(faults.lost_after), events_(events), now_(now), changed_(std::move(changed)) {
  std::vector<SimFaults::Partition> sorted = faults.partitions;
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.from < b.from; });
  for (const SimFaults::Partition& partition : sorted) {
    Cut& cut = cuts_.emplace_back(*this);
    cut.inside.resize(hosts);
    for (const int host : partition.hosts) cut.inside[static_cast<size_t>(host)] = true;
    cut.from = partition.from;
    cut.until = partition.until;
  }
}

void Partitions::start() {
  for (Cut& cut : cuts_) {
    if (cut.until > now_ && !cut.open) events_.start(cut, std::max(now_, cut.from));
  }
}

/// It begins, it has lasted too long, it ends.
void Partitions::advance(Cut& cut) {
  if (now_ >= cut.until) {
    cut.open = false;
  } else if (!cut.open) {
    cut.open = true;
    const double lost = cut.from + lost_after_;
    events_.start(cut, lost < cut.until ? std::max(now_, lost) : cut.until);
  } else {
    cut.severed = true;
    events_.start(cut, cut.until);
  }
  changed_();
}

bool Partitions::cut(int a, int b) const {
  return std::any_of(cuts_.begin(), cuts_.end(),
                     [=](const Cut& cut) { return cut.open && cut.between(a, b); });
}

bool Partitions::severed(int a, int b) const {
  return std::any_of(cuts_.begin(), cuts_.end(),
                     [=](const Cut& cut) { return cut.severed && cut.between(a, b); });
}

double Partitions::passes(int a, int b, double at) const {
  for (const Cut& cut : cuts_) {
    if (cut.from <= at && at < cut.until && cut.between(a, b)) at = cut.until;
  }
  return at;
}

}  // namespace syrtos::world
