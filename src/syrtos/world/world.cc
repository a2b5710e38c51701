#include "syrtos/world/world.h"

#include <algorithm>
#include <cmath>

#include "syrtos/base/format.h"
#include "syrtos/base/log.h"

namespace syrtos::world {

namespace {

/// "for all-reduce 3, round 17 (4 MB) from rank 2 on c".
std::string described(const World& world, const Message& message) {
  return fmt::format("{} ({}) {} {}", to_string(message.tag), format_bytes(message.bytes()),
                     message.direction == Message::Direction::send ? "to" : "from",
                     world.name(message.peer));
}

}  // namespace

bool Operation::await_suspend(std::coroutine_handle<> handle) {
  suspend(handle);
  state_ = State::starting;
  start();
  if (state_ == State::done) return false;
  state_ = State::pending;
  return true;
}

void Operation::finish() {
  SYRTOS_CHECK(pending());
  stop();
  if (state_ == State::pending) world_.agenda().ready.push(*this);
  state_ = State::done;
}

void Operation::fail(std::exception_ptr error) {
  set_error(std::move(error));
  finish();
}

Message::~Message() {
  if (pending()) world().abandon(*this);
}

void Message::start() {
  World& world = this->world();
  started_ = world.now();
  world.agenda().timers.start(*this, started_ + world.deadline());
  if (world.watcher_ != nullptr) world.watcher_->started(*this);
  if (direction == Direction::send) {
    world.start_send(*this);
  } else {
    world.start_recv(*this);
  }
}

void Message::await_resume() const {
  World& world = this->world();
  if (world.watcher_ != nullptr) world.watcher_->ended(*this);
  rethrow();
  if (direction == Direction::recv) world.heard_[static_cast<size_t>(peer)] = world.now();
}

void Message::restart_timer(double at) { world().agenda().timers.start(*this, at); }

/// Whether a message that is late may still come; what has come of it is kept then.
bool Message::waits_on() {
  World& world = this->world();
  const double now = world.now();
  const double since = patience.since == nullptr ? started_ : *patience.since;
  if (now < since + world.deadline()) {
    restart_timer(std::isinf(since) ? now + world.deadline() : since + world.deadline());
    return true;
  }
  if (patience.silence <= 0) return false;
  const double last = std::max(since, world.heard_from(peer));
  if (now >= last + patience.silence) {
    const std::string why = fmt::format("it has said nothing for {:.0f} s", now - last);
    world.give_up(peer, why);
    if (!pending()) return true;
    world.abandon(*this);
    fail(world.peer_lost(*this, why));
    return true;
  }
  if (now >= last + world.deadline() && !std::isinf(patience.silence))
    world.tell_silence(*this, last);
  restart_timer(std::min(now + world.deadline(), last + patience.silence));
  return true;
}

void World::tell_silence(const Message& message, double since) const {
  const std::string text = fmt::format(
      "{} has said nothing for {:.0f} s: {} waits for {}; after {:.0f} s the others go on without "
      "it",
      name(message.peer), now() - since, name(rank_), described(*this, message),
      message.patience.silence);
  log_info("{}", text);
  if (told_) told_(text);
}

void Message::expire() {
  World& world = this->world();
  if (waits_on()) return;
  const std::string text = fmt::format(
      "{}: waited {:.0f} s for {}; {} of it crossed: is that rank stuck?", world.name(world.rank()),
      world.deadline(), described(world, *this), format_bytes(moved));
  world.abandon(*this);
  fail(std::make_exception_ptr(DeadlinePassed(text, peer)));
}

void Sleep::start() { world().agenda().timers.start(*this, world().now() + seconds_); }

Compute::~Compute() {
  if (pending()) world().abandon(*this);
}

void Compute::start() { world().start_compute(*this); }

AllReduce::~AllReduce() {
  if (pending()) world().abandon_all_reduce(*this);
}

void AllReduce::start() {
  World& world = this->world();
  world.agenda().timers.start(*this, world.now() + world.deadline());
  world.start_all_reduce(*this);
}

void AllReduce::expire() {
  World& world = this->world();
  const std::string text = fmt::format(
      "{}: waited {:.0f} s for the {} of {} over all ranks: is one of them stuck?",
      world.name(world.rank()), world.deadline(), to_string(reduction), format_bytes(bytes()));
  world.abandon_all_reduce(*this);
  fail(std::make_exception_ptr(DeadlinePassed(text)));
}

std::string World::name(Rank rank) const {
  const Rank number = numbers_.empty() ? rank : numbers_[static_cast<size_t>(rank)];
  return fmt::format("rank {} on {}", number, host(rank));
}

Message World::send(Rank to, Tag tag, Source source, int priority, Patience patience) {
  SYRTOS_CHECK(to >= 0 && to < size(), "{} of {}", to, size());
  return {*this, Message::Direction::send, to, tag, source, {}, priority, patience};
}

Message World::recv(Rank from, Tag tag, Target target, Patience patience) {
  SYRTOS_CHECK(from >= 0 && from < size(), "{} of {}", from, size());
  return {*this, Message::Direction::recv, from, tag, {}, target, 0, patience};
}

Sleep World::sleep(double seconds) { return {*this, seconds}; }

Compute World::compute(double seconds, Work work, Where where) {
  return {*this, seconds, std::move(work), where};
}

AllReduce World::all_reduce(void* values, size_t count, Element element, Reduction reduction) {
  return {*this, values, count, element, reduction};
}

void World::start_all_reduce(AllReduce&) {
  throw InternalError("this world has no all-reduce of its own: ask has_all_reduce() first");
}

std::exception_ptr World::peer_lost(const Message& message, std::string_view why) const {
  return std::make_exception_ptr(PeerLost(
      message.peer, fmt::format("{} is lost ({}): {} was waiting for {}", name(message.peer), why,
                                name(rank_), described(*this, message))));
}

std::exception_ptr World::mismatch(const Message& expected, const Tag& found, size_t bytes) const {
  return std::make_exception_ptr(Mismatch(fmt::format(
      "{} expected {}, found {} ({}): the ranks are not at the same place of their program",
      name(rank_), described(*this, expected), to_string(found), format_bytes(bytes))));
}

}  // namespace syrtos::world
