#pragma once

#include <vector>

#include "syrtos/strategy/strategy.h"
#include "syrtos/world/started.h"

namespace syrtos::strategy {

/// What brings each bucket's weights for the next pass, and how long a worker waited for it.
class Arrivals {
 public:
  Arrivals(World& world, Waiting& waiting, size_t buckets)
      : world_(world), waiting_(waiting), coming_(buckets) {}

  void start(int bucket, Task<> task) {
    coming_[static_cast<size_t>(bucket)] = world::Started(world_, std::move(task));
  }

  /// Goes on when the bucket has arrived; throws what its exchange threw.
  Task<> wait(int bucket) {
    world::Started& coming = coming_[static_cast<size_t>(bucket)];
    if (!coming.valid()) co_return;
    const double start = world_.now();
    co_await coming.join();
    waiting_.network += world_.now() - start;
  }

  Task<> all() {
    for (size_t bucket = 0; bucket < coming_.size(); ++bucket) {
      co_await wait(static_cast<int>(bucket));
    }
  }

 private:
  World& world_;
  Waiting& waiting_;
  std::vector<world::Started> coming_;
};

}  // namespace syrtos::strategy
