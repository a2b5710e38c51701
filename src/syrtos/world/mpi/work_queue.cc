#include "syrtos/world/mpi/work_queue.h"

#include <algorithm>

namespace syrtos::world {

void WorkQueue::add(Compute& compute) {
  const std::lock_guard lock(mutex_);
  waiting_.push_back(&compute);
  to_do_.notify_one();
}

bool WorkQueue::collect() {
  std::vector<std::pair<Compute*, std::exception_ptr>> done;
  {
    const std::lock_guard lock(mutex_);
    done.swap(done_);
  }
  for (auto& [compute, error] : done) {
    if (error) {
      compute->fail(std::move(error));
    } else {
      compute->finish();
    }
  }
  return !done.empty();
}

void WorkQueue::abandon(Compute& compute) {
  std::unique_lock lock(mutex_);
  result_.wait(lock, [&] { return running_ != &compute; });
  std::erase(waiting_, &compute);
  std::erase_if(done_, [&](const auto& entry) { return entry.first == &compute; });
}

void WorkQueue::wait_until(Clock::time_point until) {
  std::unique_lock lock(mutex_);
  result_.wait_until(lock, until, [&] { return !done_.empty(); });
}

void WorkQueue::close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  to_do_.notify_one();
}

void WorkQueue::serve() {
  std::unique_lock lock(mutex_);
  while (true) {
    to_do_.wait(lock, [&] { return closed_ || !waiting_.empty(); });
    if (waiting_.empty()) return;
    running_ = waiting_.front();
    waiting_.pop_front();
    std::exception_ptr error;
    lock.unlock();
    try {
      running_->work();
    } catch (...) {
      error = std::current_exception();
    }
    lock.lock();
    done_.emplace_back(std::exchange(running_, nullptr), std::move(error));
    result_.notify_one();
  }
}

}  // namespace syrtos::world
