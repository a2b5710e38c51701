#include "syrtos/world/tcp/compute_queue.h"

namespace syrtos::world::tcp {

void ComputeQueue::put(Compute& compute) {
  {
    const std::lock_guard lock(mutex_);
    waiting_.push_back({&compute, nullptr});
  }
  changed_.notify_all();
}

void ComputeQueue::drop(Compute& compute) {
  const auto is_it = [&](const Job& job) { return job.compute == &compute; };
  std::unique_lock lock(mutex_);
  waiting_.remove_if(is_it);
  changed_.wait(lock, [&] { return running_.empty() || running_.front().compute != &compute; });
  done_.remove_if(is_it);
}

void ComputeQueue::collect() {
  Jobs done;
  {
    const std::lock_guard lock(mutex_);
    done.swap(done_);
  }
  for (Job& job : done) {
    if (job.error) {
      job.compute->fail(std::move(job.error));
    } else {
      job.compute->finish();
    }
  }
}

bool ComputeQueue::busy() {
  const std::lock_guard lock(mutex_);
  return !running_.empty() || !waiting_.empty() || !done_.empty();
}

void ComputeQueue::close() {
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
  }
  changed_.notify_all();
}

void ComputeQueue::serve() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return closed_ || !waiting_.empty(); });
    if (closed_) return;
    running_.splice(running_.end(), waiting_, waiting_.begin());
    Job& job = running_.front();
    lock.unlock();
    try {
      job.compute->work();
    } catch (...) {
      job.error = std::current_exception();
    }
    lock.lock();
    done_.splice(done_.end(), running_);
    changed_.notify_all();
    wake_();
  }
}

}  // namespace syrtos::world::tcp
