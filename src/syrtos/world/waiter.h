#pragma once

#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <vector>

namespace syrtos::world {

/// A place in a WaitList. Leaves the list when it is destroyed, so that a cancelled coroutine is
/// never resumed.
class Link {
 public:
  Link() = default;
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;
  ~Link() { unlink(); }

  bool linked() const { return next_ != this; }
  void unlink() {
    previous_->next_ = next_;
    next_->previous_ = previous_;
    previous_ = next_ = this;
  }

 private:
  friend class WaitList;
  Link* previous_ = this;
  Link* next_ = this;
};

/// A suspended coroutine: an awaitable object in its frame derives from this.
class Waiter : public Link {
 public:
  void resume() { handle_.resume(); }
  /// It will throw this when it is resumed.
  void set_error(std::exception_ptr error) { error_ = std::move(error); }

 protected:
  void suspend(std::coroutine_handle<> handle) { handle_ = handle; }
  void rethrow() const {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  std::coroutine_handle<> handle_;
  std::exception_ptr error_;
};

/// First in, first out; owns nothing.
class WaitList {
 public:
  WaitList() = default;
  WaitList(const WaitList&) = delete;
  WaitList& operator=(const WaitList&) = delete;
  ~WaitList() {
    while (!empty()) head_.next_->unlink();
  }

  bool empty() const { return !head_.linked(); }
  /// Moves the waiter here from wherever it was.
  void push(Waiter& waiter) {
    waiter.unlink();
    Link& link = waiter;
    link.previous_ = head_.previous_;
    link.next_ = &head_;
    head_.previous_->next_ = &link;
    head_.previous_ = &link;
  }
  Waiter& front() const { return static_cast<Waiter&>(*head_.next_); }
  Waiter& pop() {
    Waiter& first = front();
    first.unlink();
    return first;
  }

 private:
  Link head_;
};

class TimerHeap;

/// A moment at which something happens; leaves its heap when it is destroyed.
class Timer {
 public:
  Timer() = default;
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;
  ~Timer() { stop(); }

  bool running() const { return heap_ != nullptr; }
  double at() const { return at_; }
  void stop();

 private:
  friend class TimerHeap;
  TimerHeap* heap_ = nullptr;
  size_t index_ = 0;
  double at_ = 0;
  uint64_t order_ = 0;  // of equal times, the one that was started first comes first
};

class TimerHeap {
 public:
  bool empty() const { return heap_.empty(); }
  Timer& first() const { return *heap_.front(); }
  void start(Timer& timer, double at);

 private:
  friend class Timer;
  void remove(Timer& timer);
  bool before(const Timer& a, const Timer& b) const {
    return a.at_ < b.at_ || (a.at_ == b.at_ && a.order_ < b.order_);
  }
  void put(size_t index, Timer& timer) {
    heap_[index] = &timer;
    timer.index_ = index;
  }
  void rise(size_t index);
  void sink(size_t index);

  std::vector<Timer*> heap_;
  uint64_t started_ = 0;
};

}  // namespace syrtos::world
