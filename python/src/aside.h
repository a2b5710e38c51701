#pragma once

#include <nanobind/nanobind.h>

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>

namespace syrtos::python {

/// Long work on a thread of its own, while the thread that called from Python waits for it without
/// the interpreter's lock. Signals and calls of Python functions are for the waiting thread: so
/// Ctrl-C ends the work in good order, and callbacks run where people expect them.
class Aside {
 public:
  /// Blocks until `work` is done, and throws what it threw. An exception of Python's, such as
  /// KeyboardInterrupt, asks the work to stop and comes through when it has. With the lock held.
  void run(const std::function<void()>& work);

  /// Asked by the work, from any thread.
  bool stopped() const { return stopped_.load(std::memory_order_relaxed); }
  void stop() { stopped_.store(true, std::memory_order_relaxed); }
  std::function<bool()> should_stop() {
    return [this] { return stopped(); };
  }

  /// Does it on the thread that waits, with the lock held; blocks until it is done. For the work,
  /// from any thread but that one. What it throws asks the work to stop.
  void call(const std::function<void()>& function);

 private:
  void do_posted(std::unique_lock<std::mutex>& lock);
  void look_for_signals(std::unique_lock<std::mutex>& lock);

  std::atomic<bool> stopped_{false};
  std::mutex mutex_;
  std::condition_variable changed_;
  const std::function<void()>* posted_ = nullptr;
  bool done_ = false;
  std::optional<nanobind::python_error> raised_;  ///< The first one.
};

}  // namespace syrtos::python
