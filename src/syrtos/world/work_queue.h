#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>

#include "syrtos/base/clock.h"
#include "syrtos/world/world.h"

namespace syrtos::world {

/// Hands work from a world's thread to the thread that computes, one piece after the other, and
/// lets those who asked for it go on afterwards. The pieces stand in its lists themselves, so
/// nothing is allocated.
class WorkQueue {
 public:
  /// `wake` is called on the computing thread when collect() has something to do; without it, the
  /// world's thread asks from time to time, or waits.
  explicit WorkQueue(std::function<void()> wake = {}) : wake_(std::move(wake)) {}

  // The world's thread.
  void put(Compute& compute);
  /// Takes the work back; if it has begun, this blocks until its end.
  void drop(Compute& compute);
  /// Lets those go on whose work is done; false when there are none.
  bool collect();
  /// Something waits, runs or is to be collected.
  bool busy();
  /// Returns when there is something to collect, at `until` at the latest.
  void wait_until(Clock::time_point until);
  /// Ends serve(). Work that has not begun stays undone: by then nobody awaits any.
  void close();

  /// The computing thread: works until close().
  void serve();

 private:
  const std::function<void()> wake_;
  std::mutex mutex_;
  std::condition_variable to_do_;
  std::condition_variable done_changed_;
  WaitList waiting_;
  WaitList done_;
  Compute* running_ = nullptr;
  bool closed_ = false;
};

}  // namespace syrtos::world
