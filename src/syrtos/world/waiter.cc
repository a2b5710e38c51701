#include "syrtos/world/waiter.h"

namespace syrtos::world {

void Timer::stop() {
  if (heap_ != nullptr) heap_->remove(*this);
}

void TimerHeap::start(Timer& timer, double at) {
  timer.stop();
  timer.heap_ = this;
  timer.at_ = at;
  timer.order_ = started_++;
  heap_.push_back(&timer);
  timer.index_ = heap_.size() - 1;
  rise(timer.index_);
}

void TimerHeap::remove(Timer& timer) {
  const size_t index = timer.index_;
  Timer& last = *heap_.back();
  heap_.pop_back();
  timer.heap_ = nullptr;
  if (&last == &timer) return;
  put(index, last);
  rise(index);
  sink(last.index_);
}

void TimerHeap::rise(size_t index) {
  Timer& timer = *heap_[index];
  while (index > 0) {
    const size_t parent = (index - 1) / 2;
    if (!before(timer, *heap_[parent])) break;
    put(index, *heap_[parent]);
    index = parent;
  }
  put(index, timer);
}

void TimerHeap::sink(size_t index) {
  Timer& timer = *heap_[index];
  while (true) {
    size_t child = 2 * index + 1;
    if (child >= heap_.size()) break;
    if (child + 1 < heap_.size() && before(*heap_[child + 1], *heap_[child])) ++child;
    if (!before(*heap_[child], timer)) break;
    put(index, *heap_[child]);
    index = child;
  }
  put(index, timer);
}

}  // namespace syrtos::world
