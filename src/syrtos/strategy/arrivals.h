#pragma once

#include <vector>

#include "syrtos/strategy/strategy.h"
#include "syrtos/world/started.h"

namespace syrtos::strategy {

/// What brings each bucket's weights for the next pass.
/// Whoever waits for one bucket learns at once when another fails: what it waits for may depend on
/// it.
class Arrivals {
 public:
  Arrivals(World& world, Meter& meter, size_t buckets)
      : world_(world), meter_(meter), coming_(buckets), changed_(world) {}

  void start(int bucket, Task<> task) {
    meter_.bucket_ready(bucket);
    coming_[static_cast<size_t>(bucket)] = world::Started(world_, note(std::move(task)));
  }

  bool here(int bucket) const {
    const world::Started& coming = coming_[static_cast<size_t>(bucket)];
    return !error_ && (!coming.valid() || coming.done());
  }

  /// Goes on when the bucket has arrived; throws what an exchange threw.
  Task<> wait(int bucket) {
    world::Started& coming = coming_[static_cast<size_t>(bucket)];
    if (!coming.valid()) co_return;
    if (!coming.done() && !error_) {
      const double before = meter_.network();
      {
        const Meter::Doing waits(meter_, Part::network);
        while (!coming.done() && !error_) co_await changed_.wait();
      }
      meter_.bucket_exposed(bucket, meter_.network() - before);
    }
    if (error_) std::rethrow_exception(error_);
  }

  /// What has not arrived will not.
  void give_up() {
    for (world::Started& coming : coming_) coming.cancel();
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
  Meter& meter_;
  std::vector<world::Started> coming_;
  world::Condition changed_;
  std::exception_ptr error_;
};

}  // namespace syrtos::strategy
