#include "syrtos/launch/reach.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace syrtos::launch {

namespace {

// More than a packet of any size, and less than what a socket takes at once.
constexpr size_t kBytes = 32768;

constexpr int kAtOnce = 64;
constexpr size_t kMostCallers = 1024;

bool must_wait() { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR; }

}  // namespace

void Answering::watch(std::vector<pollfd>& events) const {
  events.push_back({.fd = listener_.descriptor(), .events = POLLIN, .revents = 0});
  for (const Caller& caller : callers_) {
    events.push_back({.fd = caller.socket.get(), .events = POLLIN, .revents = 0});
  }
}

void Answering::step() {
  // Who says nothing keeps no place for ever: the oldest ones go when too many come.
  for (int n = 0; n < kAtOnce; ++n) {
    Descriptor socket = listener_.accept();
    if (!socket.valid()) break;
    callers_.push_back({std::move(socket)});
    if (callers_.size() > kMostCallers) callers_.erase(callers_.begin());
  }
  std::erase_if(callers_, [](Caller& caller) {
    std::array<char, 4096> block;
    for (;;) {
      const ssize_t count = recv(caller.socket.get(), block.data(), block.size(), MSG_DONTWAIT);
      if (count < 0 && must_wait()) return false;
      if (count <= 0) return true;
      caller.received += static_cast<size_t>(count);
      if (caller.received < kBytes) continue;
      // It closes when it has got this.
      if (caller.received == kBytes) send(caller.socket.get(), "!", 1, MSG_NOSIGNAL | MSG_DONTWAIT);
    }
  });
}

Calling::Calling(Peer peer)
    : peer_(std::move(peer)),
      socket_(world::begin_connect(world::resolve(peer_.address, peer_.port))) {
  if (socket_.valid()) return;
  error_ = errno;
  done_ = true;
}

void Calling::watch(std::vector<pollfd>& events) const {
  if (done_) return;
  const bool writes = !connected_ || sent_ < kBytes;
  events.push_back({.fd = socket_.get(),
                    .events = static_cast<short>(writes ? POLLOUT | POLLIN : POLLIN),
                    .revents = 0});
}

void Calling::step() {
  if (done_) return;
  if (!connected_) {
    pollfd event{.fd = socket_.get(), .events = POLLOUT, .revents = 0};
    if (poll(&event, 1, 0) <= 0) return;
    error_ = world::connect_error(socket_.get());
    done_ = error_ != 0;
    connected_ = !done_;
    if (done_) return;
  }
  static constexpr std::array<char, kBytes> kNothing{};
  while (sent_ < kBytes) {
    const ssize_t count =
        send(socket_.get(), kNothing.data(), kBytes - sent_, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count < 0 && must_wait()) return;
    if (count < 0) {
      error_ = errno;
      done_ = true;
      return;
    }
    sent_ += static_cast<size_t>(count);
  }
  char answer = 0;
  const ssize_t count = recv(socket_.get(), &answer, 1, MSG_DONTWAIT);
  if (count < 0 && must_wait()) return;
  if (count <= 0) error_ = count < 0 ? errno : ECONNRESET;
  done_ = true;
}

std::string Calling::problem() const {
  if (done_ && error_ == 0) return {};
  if (done_) return world::error_text(error_);
  return connected_ ? "connects, but full packets get lost" : "no answer";
}

}  // namespace syrtos::launch
