// The part of TcpWorld that runs on its own thread.

#include <sched.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>

#include "syrtos/world/tcp/peer.h"
#include "syrtos/world/tcp/tcp.h"

namespace syrtos::world {

namespace {

/// s. Longer than it takes to be woken: otherwise two ranks that wait for each other, once one of
/// them slept, would sleep in turns from then on.
constexpr double kSpin = 250e-6;
constexpr int kLook = 1024;  // at memory, between two questions to the kernel
constexpr int kMostHurried = 16;

}  // namespace

void TcpWorld::work() {
  std::exception_ptr error;
  try {
    const RankProgram* program = nullptr;
    while (program == nullptr) {
      step(options_.heartbeat);
      const std::lock_guard lock(mutex_);
      if (stop_) return;
      program = program_;
    }
    run_main(*program);
  } catch (...) {
    error = std::current_exception();
  }
  try {
    say_good_bye(error != nullptr);
  } catch (...) {
    if (!error) error = std::current_exception();
  }
  {
    const std::lock_guard lock(mutex_);
    error_ = error;
  }
  work_.close();
}

void TcpWorld::run_main(const RankProgram& program) {
  std::exception_ptr error;
  {
    Started main(*this, program(*this));
    while (!main.done()) {
      step(options_.heartbeat);
      agenda_.run_ready();
    }
    error = main.error();
  }
  if (error) std::rethrow_exception(error);
}

/// The others learn that nothing more comes. Ends when they have everything, or after a while.
void TcpWorld::say_good_bye(bool failed) {
  for (const auto& peer : peers_) {
    if (peer) peer->say_good_bye(failed);
  }
  // After a failure nobody needs more of us than that it has happened.
  constexpr double kFarewell = 1;
  const double until =
      now() + (failed ? std::min(kFarewell, options_.lost_after) : options_.lost_after);
  const auto settled = [](const auto& peer) { return !peer || peer->settled(); };
  while (now() < until && !std::all_of(peers_.begin(), peers_.end(), settled)) step(0.001);
  for (const auto& peer : peers_) {
    if (peer) peer->lose("this rank has ended");
  }
}

/// Moves what can be moved, then waits for something to happen, not longer than so many seconds.
void TcpWorld::step(double longest) {
  bool more = false;
  for (const auto& peer : peers_) {
    if (peer && !peer->lost()) more = peer->pump() || more;
  }
  // Asking the kernel costs more than a small message: not each time that somebody can go on.
  const bool hurry = !agenda_.ready.empty() || (!more && spin());
  if (hurry && ++hurried_ < kMostHurried) return;
  hurried_ = 0;
  const double time = now();
  double timeout = 0;
  if (!more && !hurry) {
    timeout = std::min(longest, next_beat_ - time);
    if (!agenda_.timers.empty()) {
      timeout = std::min(timeout, agenda_.timers.first().at() - time);
    }
    if (timeout < 0 || !fall_asleep()) timeout = 0;
  }
  take_events(timeout);
  expire_timers();
  if (now() >= next_beat_) beat();
}

int TcpWorld::take_events(double timeout) {
  std::array<epoll_event, 64> events;
  const timespec time{static_cast<time_t>(timeout),
                      static_cast<long>((timeout - std::floor(timeout)) * 1e9)};
  int count = epoll_pwait2(epoll_.get(), events.data(), events.size(), &time, nullptr);
  if (count < 0 && errno == ENOSYS) {  // before Linux 5.11
    count = epoll_wait(epoll_.get(), events.data(), events.size(),
                       static_cast<int>(std::ceil(timeout * 1000)));
  }
  if (sharing_ > 0 && timeout > 0) {
    for (const auto& peer : peers_) {
      if (peer && peer->shares_memory() && !peer->lost()) peer->wake_up();
    }
  }
  for (int i = 0; i < count; ++i) {
    const epoll_event& event = events[static_cast<size_t>(i)];
    if (event.data.ptr == nullptr) {
      uint64_t times = 0;
      (void)!read(wake_.get(), &times, sizeof(times));
      work_.collect();
      continue;
    }
    auto& connection = *static_cast<tcp::Connection*>(event.data.ptr);
    if ((event.events & EPOLLIN) != 0) connection.set_readable();
    if ((event.events & EPOLLOUT) != 0) connection.set_writable();
    if ((event.events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0) connection.set_ending();
  }
  return count;
}

/// Looks a while for what comes over common memory: faster than being woken.
bool TcpWorld::spin() {
  if (!spins_ || work_.busy()) return false;
  const double until = now() + kSpin;
  for (int i = 1; i % kLook != 0 || now() < until; ++i) {
    for (const auto& peer : peers_) {
      if (peer && peer->shares_memory() && !peer->lost() && peer->has_news()) return true;
    }
    if (i % kLook != 0) continue;
    if (take_events(0) > 0) return true;
    // The one that we wait for may have been woken on this core.
    sched_yield();
  }
  return false;
}

/// Whoever shares memory with us must wake us from now on; false when something has come.
bool TcpWorld::fall_asleep() {
  if (sharing_ == 0) return true;
  return std::all_of(peers_.begin(), peers_.end(), [](const auto& peer) {
    return !peer || !peer->shares_memory() || peer->lost() || peer->fall_asleep();
  });
}

void TcpWorld::expire_timers() {
  while (!agenda_.timers.empty() && agenda_.timers.first().at() <= now()) {
    auto& operation = static_cast<Operation&>(agenda_.timers.first());
    operation.stop();
    operation.expire();
  }
}

void TcpWorld::beat() {
  const double time = now();
  const double interval = beat_interval();
  // Silence counts only while we listened: this process may have been stopped meanwhile.
  const double grace = std::max(0.0, time - last_beat_ - 2 * interval);
  for (const auto& peer : peers_) {
    if (peer) peer->beat(time, options_.lost_after, grace);
  }
  last_beat_ = time;
  next_beat_ = time + interval;
}

}  // namespace syrtos::world
