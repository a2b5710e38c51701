#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <utility>
#include <vector>

#include "syrtos/base/clock.h"
#include "syrtos/world/world.h"

namespace syrtos::world {

/// Carries work from a world's thread to the thread that computes, and results back.
class WorkQueue {
 public:
  // The world's thread.
  void add(Compute& compute);
  /// Lets those go on whose work is done; false when there are none.
  bool collect();
  /// The work is taken back; if it has begun, this waits for its end.
  void abandon(Compute& compute);
  /// Returns when work is done, at `until` at the latest.
  void wait_until(Clock::time_point until);
  void close();

  // The thread that computes.
  /// Works until the queue is closed.
  void serve();

 private:
  std::mutex mutex_;
  std::condition_variable to_do_;
  std::condition_variable result_;
  std::deque<Compute*> waiting_;
  Compute* running_ = nullptr;
  std::vector<std::pair<Compute*, std::exception_ptr>> done_;
  bool closed_ = false;
};

}  // namespace syrtos::world
