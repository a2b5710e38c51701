#include "syrtos/world/started.h"

#include <utility>

namespace syrtos::world {

/// The frame that awaits the task; it stays at its end until its owner destroys it.
struct Started::Frame {
  struct promise_type {
    Frame get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
    std::suspend_always initial_suspend() const noexcept { return {}; }
    std::suspend_always final_suspend() const noexcept { return {}; }
    void return_void() const noexcept {}
    void unhandled_exception() const noexcept { std::terminate(); }
  };
  std::coroutine_handle<> handle;
};

struct Started::State {
  World& world;
  bool done = false;
  std::exception_ptr error;
  WaitList joining;
  std::coroutine_handle<> frame;
};

Started::Frame Started::drive(State& state, Task<> task) {
  try {
    co_await task;
  } catch (...) {
    state.error = std::current_exception();
  }
  state.done = true;
  while (!state.joining.empty()) state.world.scheduler().ready.push(state.joining.front());
}

Started::Started(World& world, Task<> task)
    : state_(new State{.world = world, .error = {}, .joining = {}, .frame = {}}) {
  state_->frame = drive(*state_, std::move(task)).handle;
  state_->frame.resume();
}

Started::Started() = default;
Started::Started(Started&& other) noexcept = default;
Started::~Started() { cancel(); }

bool Started::done() const { return state_->done; }
std::exception_ptr Started::error() const { return state_->error; }

Started& Started::operator=(Started&& other) noexcept {
  cancel();
  state_ = std::move(other.state_);
  return *this;
}

void Started::cancel() {
  if (state_ == nullptr) return;
  state_->frame.destroy();
  state_.reset();
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
  while (!waiting_.empty()) world_.scheduler().ready.push(waiting_.front());
}

void Condition::notify_all() {
  while (!waiting_.empty()) world_.scheduler().ready.push(waiting_.front());
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
    world_.scheduler().ready.push(next);
  }
}

}  // namespace syrtos::world
