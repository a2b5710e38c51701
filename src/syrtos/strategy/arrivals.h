#pragma once

#include <vector>

#include "syrtos/strategy/strategy.h"
#include "syrtos/world/started.h"

namespace syrtos::strategy {

/// What brings each bucket's weights for the next pass, and how long a worker waited for it.
/// Whoever waits for one bucket learns at once when another fails: what it waits for may depend on
/// it.
class Arrivals {
 public:
  Arrivals(World& world, Waiting& waiting, size_t buckets)
      : world_(world), waiting_(waiting), coming_(buckets), changed_(world) {}

  void start(int bucket, Task<> task) {
    coming_[static_cast<size_t>(bucket)] = world::Started(world_, note(std::move(task)));
  }

  /// Goes on when the bucket has arrived; throws what an exchange threw.
  Task<> wait(int bucket) {
    world::Started& coming = coming_[static_cast<size_t>(bucket)];
    if (!coming.valid()) co_return;
    const double start = world_.now();
    while (!coming.done() && !error_) co_await changed_.wait();
    if (error_) std::rethrow_exception(error_);
    waiting_.network += world_.now() - start;
  }

  Task<> all() {
    for (size_t bucket = 0; bucket < coming_.size(); ++bucket) {
      co_await wait(static_cast<int>(bucket));
    }
  }

 private:
  Task<> note(Task<> task) {
    try {
      co_await task;
    } catch (...) {
      if (!error_) error_ = std::current_exception();
    }
    changed_.notify_all();
  }

  World& world_;
  Waiting& waiting_;
  std::vector<world::Started> coming_;
  world::Condition changed_;
  std::exception_ptr error_;
};

}  // namespace syrtos::strategy
