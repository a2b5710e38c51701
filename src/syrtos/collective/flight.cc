#include "syrtos/collective/flight.h"

#include <algorithm>
#include <new>

namespace syrtos::collective {

Flight::Flight(world::World& world, size_t capacity)
    : world_(world),
      capacity_(capacity),
      messages_(std::allocator<world::Message>().allocate(capacity)),
      noticed_(capacity) {}

Flight::~Flight() {
  clear();
  std::allocator<world::Message>().deallocate(messages_, capacity_);
}

void Flight::send(world::Rank to, world::Tag tag, world::Source source, int priority) {
  SYRTOS_CHECK(!started_ && count_ < capacity_);
  new (messages_ + count_) world::Message(world_.send(to, tag, source, priority));
  ++count_;
}

void Flight::recv(world::Rank from, world::Tag tag, world::Target target) {
  SYRTOS_CHECK(!started_ && count_ < capacity_);
  new (messages_ + count_) world::Message(world_.recv(from, tag, target));
  ++count_;
}

void Flight::clear() {
  while (count_ > 0) {
    messages_[--count_].~Message();
    noticed_[count_] = false;
  }
  started_ = false;
}

bool Flight::landed() {
  if (count_ == 0) return true;
  if (!started_) return false;
  bool all = true;
  for (size_t i = 0; i < count_; ++i) {
    if (messages_[i].pending()) {
      all = false;
    } else if (!noticed_[i]) {
      noticed_[i] = true;
      messages_[i].await_resume();
    }
  }
  return all;
}

// Each message that ends resumes the coroutine, which then looks at all of them. Those that ended
// meanwhile are in the list of whoever can go on, and leave it when they are destroyed.
bool Flight::start(std::coroutine_handle<> handle) {
  started_ = true;
  bool any_done = false;
  for (size_t i = 0; i < count_; ++i) {
    if (!messages_[i].await_suspend(handle)) any_done = true;
  }
  // Those that are done at once may have failed: let the coroutine look.
  return !any_done;
}

}  // namespace syrtos::collective
