#include "syrtos/world/started.h"

#include <utility>

namespace syrtos::world {

struct Started::State {
  World& world;
  bool done = false;
  std::exception_ptr error = {};
  WaitList joining = {};
  std::coroutine_handle<> frame = {};
};

/// The frame that awaits the task; it stays at its end until its owner destroys it.
struct Started::Frame {
  struct promise_type : PooledFrame {
    promise_type(World& world, Task<>& /*task*/) : state{world} {}
    Frame get_return_object() {
      state.frame = std::coroutine_handle<promise_type>::from_promise(*this);
      return {&state};
    }
    std::suspend_always initial_suspend() const noexcept { return {}; }
    std::suspend_always final_suspend() const noexcept { return {}; }
    void return_void() const noexcept {}
    void unhandled_exception() const noexcept { std::terminate(); }
    State state;
  };

  /// Gives a coroutine the state in its own frame; it goes on at once.
  struct Own {
    bool await_ready() const noexcept { return false; }
    bool await_suspend(std::coroutine_handle<promise_type> handle) noexcept {
      state = &handle.promise().state;
      return false;
    }
    State& await_resume() const noexcept { return *state; }
    State* state = nullptr;
  };

  State* state;
};

Started::Frame Started::drive(World& /*world*/, Task<> task) {
  State& state = co_await Frame::Own();
  // Cancelled, the task goes before the state does.
  Task<> driven = std::move(task);
  try {
    co_await driven;
  } catch (...) {
    state.error = std::current_exception();
  }
  state.done = true;
  while (!state.joining.empty()) state.world.agenda().ready.push(state.joining.front());
}

Started::Started(World& world, Task<> task) : state_(drive(world, std::move(task)).state) {
  state_->frame.resume();
}

bool Started::done() const { return state_->done; }
std::exception_ptr Started::error() const { return state_->error; }

Started& Started::operator=(Started&& other) noexcept {
  cancel();
  state_ = std::exchange(other.state_, nullptr);
  return *this;
}

void Started::cancel() {
  if (state_ != nullptr) std::exchange(state_, nullptr)->frame.destroy();
}

bool Started::Join::await_ready() const { return state_.done; }

void Started::Join::await_suspend(std::coroutine_handle<> handle) {
  suspend(handle);
  state_.joining.push(*this);
}

void Started::Join::await_resume() const {
  if (state_.error) std::rethrow_exception(state_.error);
}

namespace {

/// What the tasks that join_all watches have in common.
struct Watch {
  Event changed;
  size_t running;
  std::exception_ptr error;
};

Task<> watch(Watch& all, Started& task) {
  try {
    co_await task.join();
  } catch (...) {
    if (!all.error) all.error = std::current_exception();
  }
  if (--all.running == 0 || all.error) all.changed.set();
}

}  // namespace

Task<> join_all(World& world, std::vector<Started>& tasks) {
  Watch all{Event(world), tasks.size(), {}};
  std::vector<Started> watchers;
  watchers.reserve(tasks.size());
  for (Started& task : tasks) watchers.emplace_back(world, watch(all, task));
  if (all.running > 0) co_await all.changed.wait();
  if (all.error) std::rethrow_exception(all.error);
}

void Event::set() {
  set_ = true;
  while (!waiting_.empty()) world_.agenda().ready.push(waiting_.front());
}

void Condition::notify_all() {
  while (!waiting_.empty()) world_.agenda().ready.push(waiting_.front());
}

bool Semaphore::Acquire::await_ready() const {
  if (semaphore_.free_ == 0) return false;
  --semaphore_.free_;
  return true;
}

void Semaphore::release() {
  if (waiting_.empty()) {
    ++free_;
  } else {
    auto& next = static_cast<Acquire&>(waiting_.front());
    next.granted_ = true;
    world_.agenda().ready.push(next);
  }
}

}  // namespace syrtos::world
