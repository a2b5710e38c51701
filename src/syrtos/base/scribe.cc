#include "syrtos/base/scribe.h"

#include <pthread.h>

#include <algorithm>
#include <csignal>
#include <utility>

namespace syrtos {

Scribe::~Scribe() {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

bool Scribe::post(std::function<void()> work) {
  bool all = true;
  {
    const std::lock_guard lock(mutex_);
    if (waiting_.size() >= most_) {
      if (leaves_out_ == LeavesOut::newest || !leave_out_oldest()) return false;
      all = false;
    }
    waiting_.push_back({kNoKey, std::move(work)});
    ++asked_;
  }
  changed_.notify_all();
  return all;
}

bool Scribe::leave_out_oldest() {
  const auto oldest = std::find_if(waiting_.begin(), waiting_.end(),
                                   [](const Work& one) { return one.key == kNoKey; });
  if (oldest == waiting_.end()) return false;
  waiting_.erase(oldest);
  ++done_;
  return true;
}

void Scribe::post_newest(int key, std::function<void()> work) {
  {
    const std::lock_guard lock(mutex_);
    const auto old = std::find_if(waiting_.begin(), waiting_.end(),
                                  [&](const Work& one) { return one.key == key; });
    if (old != waiting_.end()) {
      old->work = std::move(work);
      return;
    }
    waiting_.push_back({key, std::move(work)});
    ++asked_;
  }
  changed_.notify_all();
}

void Scribe::drain() {
  std::unique_lock lock(mutex_);
  const uint64_t until = asked_;
  changed_.wait(lock, [&] { return done_ >= until; });
}

void Scribe::serve() {
  // Signals are for the threads of the program.
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, nullptr);
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return over_ || !waiting_.empty(); });
    if (waiting_.empty()) return;
    const Work next = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    next.work();
    lock.lock();
    ++done_;
    changed_.notify_all();
  }
}

}  // namespace syrtos
