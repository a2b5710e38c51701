#include "syrtos/world/tcp/rendezvous.h"

#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <cmath>

#include "syrtos/base/error.h"
#include "syrtos/base/log.h"
#include "syrtos/world/world.h"

namespace syrtos::world::tcp {

namespace {

constexpr double kPatienceOfMeeting = 3;  // s that a handshake may take
constexpr double kRetryAfter = 0.1;       // s
constexpr size_t kMostStrangers = 64;
constexpr int kAtOnce = 64;

}  // namespace

Rendezvous::Rendezvous(const TcpOptions& options, Listener& listener)
    : options_(options), listener_(listener), seen_(options.members.size()) {
  slots_.resize(options.members.size());
  for (Rank peer = 0; peer < static_cast<Rank>(slots_.size()); ++peer) {
    if (peer != options.rank) slots_[static_cast<size_t>(peer)].resize(options.connections);
    if (peer >= options.rank) continue;
    const TcpMember& member = options.members[static_cast<size_t>(peer)];
    endpoints_.push_back(resolve(member.address, member.port));
  }
}

std::vector<std::vector<std::unique_ptr<Stream>>> Rendezvous::meet() {
  while (!complete()) {
    if (now() > options_.connect_timeout) fail();
    connect_some();
    wait();
    accept_some();
    step_all();
  }
  std::vector<std::vector<std::unique_ptr<Stream>>> streams(slots_.size());
  for (size_t peer = 0; peer < slots_.size(); ++peer) {
    for (Slot& slot : slots_[peer]) streams[peer].push_back(std::move(slot.stream));
  }
  return streams;
}

bool Rendezvous::complete() const {
  return std::all_of(slots_.begin(), slots_.end(), [](const auto& of_peer) {
    return std::all_of(of_peer.begin(), of_peer.end(),
                       [](const Slot& slot) { return slot.stream != nullptr; });
  });
}

void Rendezvous::connect_some() {
  for (size_t peer = 0; peer < endpoints_.size(); ++peer) {
    for (size_t index = 0; index < slots_[peer].size(); ++index) {
      Slot& slot = slots_[peer][index];
      if (slot.stream || slot.trying || now() < slot.try_at) continue;
      Descriptor socket = begin_connect(endpoints_[peer]);
      if (!socket.valid()) {
        seen_[peer] = error_text(errno);
        slot.try_at = now() + kRetryAfter;
        continue;
      }
      slot.trying = true;
      handshakes_.push_back(Handshake::connecting(options_, static_cast<Rank>(peer),
                                                  static_cast<int>(index), std::move(socket),
                                                  now() + kPatienceOfMeeting));
    }
  }
}

void Rendezvous::accept_some() {
  // Whoever knocks without end must not keep those that have come from getting on.
  for (int n = 0; n < kAtOnce; ++n) {
    Descriptor socket = listener_.accept();
    if (!socket.valid()) return;
    handshakes_.push_back(
        Handshake::accepted(options_, std::move(socket), now() + kPatienceOfMeeting));
    const size_t expected = slots_.size() * static_cast<size_t>(options_.connections);
    const auto strangers = static_cast<size_t>(std::count_if(
        handshakes_.begin(), handshakes_.end(), [](const auto& one) { return !one.outgoing(); }));
    if (strangers > expected + kMostStrangers) {
      handshakes_.erase(std::find_if(handshakes_.begin(), handshakes_.end(),
                                     [](const auto& one) { return !one.outgoing(); }));
    }
  }
}

void Rendezvous::step_all() {
  for (auto it = handshakes_.begin(); it != handshakes_.end();) {
    Handshake::State state = it->step();
    const bool late = state == Handshake::State::working && now() > it->until();
    if (state == Handshake::State::working && !late) {
      ++it;
      continue;
    }
    if (it->peer() >= 0) {
      const auto peer = static_cast<size_t>(it->peer());
      Slot& slot = slots_[peer][static_cast<size_t>(it->index())];
      if (it->outgoing()) slot.trying = false;
      if (state == Handshake::State::done) {
        // One that comes again has given up its first connection.
        slot.stream = it->take();
      } else if (it->outgoing()) {
        seen_[peer] = late ? "it does not answer" : it->why();
        log_trace("rank {} cannot be reached: {}; trying again", peer, seen_[peer]);
        slot.try_at = now() + kRetryAfter;
      }
    }
    it = handshakes_.erase(it);
  }
}

void Rendezvous::wait() const {
  std::vector<pollfd> polled = {{listener_.descriptor(), POLLIN, 0}};
  for (const Handshake& one : handshakes_) polled.push_back({one.descriptor(), one.events(), 0});
  // Short enough for the next attempt to connect.
  const double left = std::clamp(options_.connect_timeout - now(), 0.001, kRetryAfter);
  (void)poll(polled.data(), polled.size(), static_cast<int>(std::ceil(left * 1000)));
}

void Rendezvous::fail() const {
  std::string missing;
  Rank first = -1;
  for (size_t peer = 0; peer < slots_.size(); ++peer) {
    const bool there = std::all_of(slots_[peer].begin(), slots_[peer].end(),
                                   [](const Slot& slot) { return slot.stream != nullptr; });
    if (there) continue;
    if (first < 0) first = static_cast<Rank>(peer);
    const TcpMember& member = options_.members[peer];
    missing += fmt::format("{}rank {} on {} ({} port {}: {})", missing.empty() ? "" : ", ", peer,
                           member.host, member.address, member.port,
                           static_cast<Rank>(peer) > options_.rank ? "it did not come"
                           : seen_[peer].empty()                   ? "it does not answer"
                                                                   : seen_[peer]);
  }
  throw NotMet(
      first,
      fmt::format(
          "rank {} on {} waited {:.0f} s for {}: were they started, and can this host reach them?",
          options_.rank, options_.members[static_cast<size_t>(options_.rank)].host,
          options_.connect_timeout, missing));
}

}  // namespace syrtos::world::tcp
