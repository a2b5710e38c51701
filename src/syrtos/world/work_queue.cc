#include "syrtos/world/work_queue.h"

#include <utility>

namespace syrtos::world {

void WorkQueue::put(Compute& compute) {
  {
    const std::lock_guard lock(mutex_);
    waiting_.push(compute);
  }
  to_do_.notify_one();
}

void WorkQueue::drop(Compute& compute) {
  std::unique_lock lock(mutex_);
  done_changed_.wait(lock, [&] { return running_ != &compute; });
  compute.unlink();
}

bool WorkQueue::collect() {
  for (bool any = false;; any = true) {
    Compute* compute = nullptr;
    {
      const std::lock_guard lock(mutex_);
      if (done_.empty()) return any;
      compute = &static_cast<Compute&>(done_.pop());
    }
    compute->finish();
  }
}

bool WorkQueue::busy() {
  const std::lock_guard lock(mutex_);
  return running_ != nullptr || !waiting_.empty() || !done_.empty();
}

void WorkQueue::wait_until(Clock::time_point until) {
  std::unique_lock lock(mutex_);
  done_changed_.wait_until(lock, until, [&] { return !done_.empty(); });
}

void WorkQueue::close() {
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
  }
  to_do_.notify_one();
}

void WorkQueue::serve() {
  std::unique_lock lock(mutex_);
  while (true) {
    to_do_.wait(lock, [&] { return closed_ || !waiting_.empty(); });
    if (closed_) return;
    running_ = &static_cast<Compute&>(waiting_.pop());
    lock.unlock();
    try {
      running_->work();
    } catch (...) {
      running_->set_error(std::current_exception());
    }
    lock.lock();
    done_.push(*std::exchange(running_, nullptr));
    done_changed_.notify_all();
    if (wake_) wake_();
  }
}

}  // namespace syrtos::world
