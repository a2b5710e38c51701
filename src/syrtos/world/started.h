#pragma once

#include <utility>
#include <vector>

#include "syrtos/world/task.h"
#include "syrtos/world/world.h"

namespace syrtos::world {

/// A task that runs beside its maker: it goes on to its first wait at once. Destroying this
/// cancels it. A task must not destroy itself.
class Started {
  struct State;

 public:
  Started() = default;
  Started(World& world, Task<> task);
  Started(Started&& other) noexcept : state_(std::exchange(other.state_, nullptr)) {}
  Started& operator=(Started&& other) noexcept;
  ~Started() { cancel(); }

  bool valid() const { return state_ != nullptr; }
  bool done() const;
  /// What it threw, once it is done; nullptr: nothing.
  std::exception_ptr error() const;
  void cancel();

  /// Awaits its end, as often and by as many as wish to; throws what it threw.
  class [[nodiscard]] Join final : public Waiter {
   public:
    bool await_ready() const;
    void await_suspend(std::coroutine_handle<> handle);
    void await_resume() const;

   private:
    friend class Started;
    explicit Join(State& state) : state_(state) {}
    State& state_;
  };
  Join join() const { return Join(*state_); }

 private:
  struct Frame;
  static Frame drive(World& world, Task<> task);

  State* state_ = nullptr;  // part of the frame that awaits the task
};

/// Awaits all; the first failure, in order of time, is thrown at once. The others go on until their
/// owner destroys them.
Task<> join_all(World& world, std::vector<Started>& tasks);

/// Set once; whoever awaits it before goes on then, whoever awaits it later goes on at once.
class Event {
 public:
  explicit Event(World& world) : world_(world) {}
  bool is_set() const { return set_; }
  void set();

  class [[nodiscard]] Wait final : public Waiter {
   public:
    bool await_ready() const { return event_.set_; }
    void await_suspend(std::coroutine_handle<> handle) {
      suspend(handle);
      event_.waiting_.push(*this);
    }
    void await_resume() const {}

   private:
    friend class Event;
    explicit Wait(Event& event) : event_(event) {}
    Event& event_;
  };
  Wait wait() { return Wait(*this); }

 private:
  World& world_;
  bool set_ = false;
  WaitList waiting_;
};

/// Whoever waits goes on at the next notification and looks again.
class Condition {
 public:
  explicit Condition(World& world) : world_(world) {}
  void notify_all();

  class [[nodiscard]] Wait final : public Waiter {
   public:
    bool await_ready() const { return false; }
    void await_suspend(std::coroutine_handle<> handle) {
      suspend(handle);
      condition_.waiting_.push(*this);
    }
    void await_resume() const {}

   private:
    friend class Condition;
    explicit Wait(Condition& condition) : condition_(condition) {}
    Condition& condition_;
  };
  Wait wait() { return Wait(*this); }

 private:
  World& world_;
  WaitList waiting_;
};

/// So many may pass at a time; the others wait in order.
class Semaphore {
 public:
  Semaphore(World& world, int permits) : world_(world), free_(permits) {}
  void release();

  class [[nodiscard]] Acquire final : public Waiter {
   public:
    /// A permit that was granted but never used, because the coroutine was cancelled, goes back.
    ~Acquire() {
      if (granted_) semaphore_.release();
    }
    bool await_ready() const;
    void await_suspend(std::coroutine_handle<> handle) {
      suspend(handle);
      semaphore_.waiting_.push(*this);
    }
    void await_resume() { granted_ = false; }

   private:
    friend class Semaphore;
    explicit Acquire(Semaphore& semaphore) : semaphore_(semaphore) {}
    Semaphore& semaphore_;
    bool granted_ = false;
  };
  Acquire acquire() { return Acquire(*this); }

 private:
  World& world_;
  int free_;
  WaitList waiting_;
};

}  // namespace syrtos::world
