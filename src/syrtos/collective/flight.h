#pragma once

#include <coroutine>
#include <memory>
#include <vector>

#include "syrtos/world/world.h"

namespace syrtos::collective {

/// Messages of one coroutine that cross at the same time, without a task for each:
///   flight.send(...); flight.recv(...);
///   while (!flight.landed()) co_await flight;
/// The first failure is thrown at once; destroying or clearing it abandons what has not landed.
class Flight {
 public:
  Flight(world::World& world, size_t capacity);
  Flight(const Flight&) = delete;
  Flight& operator=(const Flight&) = delete;
  ~Flight();

  void send(world::Rank to, world::Tag tag, world::Source source, int priority);
  void recv(world::Rank from, world::Tag tag, world::Target target);
  void clear();

  /// Throws what a message threw.
  bool landed();

  /// Starts all messages; each that does not end at once resumes the coroutine when it ends. False:
  /// some have ended. Awaiting it does the same.
  bool start(std::coroutine_handle<> handle);

  bool await_ready() const { return false; }
  bool await_suspend(std::coroutine_handle<> handle) { return started_ || start(handle); }
  void await_resume() const {}

 private:
  world::World& world_;
  const size_t capacity_;
  world::Message* const messages_;  // they cannot move, so their memory is reserved at once
  std::vector<bool> noticed_;       // those that ended and were looked at
  size_t count_ = 0;
  bool started_ = false;
};

}  // namespace syrtos::collective
