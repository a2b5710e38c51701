#pragma once

#include <condition_variable>
#include <exception>
#include <functional>
#include <list>
#include <mutex>

#include "syrtos/world/world.h"

namespace syrtos::world::tcp {

/// Hands work from a world's thread to the thread that computes, one piece after the other.
class ComputeQueue {
 public:
  /// `wake` is called on the computing thread when collect() has something to do.
  explicit ComputeQueue(std::function<void()> wake) : wake_(std::move(wake)) {}

  // The world's thread.
  void put(Compute& compute);
  /// Blocks while it runs.
  void drop(Compute& compute);
  /// Finishes what was done.
  void collect();
  void close();
  /// Something waits, runs or is to be collected.
  bool busy();

  /// The computing thread: works until close().
  void serve();

 private:
  struct Job {
    Compute* compute;
    std::exception_ptr error;
  };
  using Jobs = std::list<Job>;

  std::function<void()> wake_;
  std::mutex mutex_;
  std::condition_variable changed_;
  Jobs waiting_;
  Jobs running_;
  Jobs done_;
  bool closed_ = false;
};

}  // namespace syrtos::world::tcp
