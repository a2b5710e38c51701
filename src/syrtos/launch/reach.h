#pragma once

#include <poll.h>

#include <string>
#include <vector>

#include "syrtos/base/clock.h"
#include "syrtos/world/socket.h"

namespace syrtos::launch {

/// Where a machine can be called, for trying whether it can.
struct Peer {
  std::string name;
  std::string address;
  uint16_t port = 0;
};

/// Answers whoever calls, so that others can try to reach this machine: takes some packets of full
/// size, which shorter paths may lose, and says one byte. Belongs to one thread, never blocks.
class Answering {
 public:
  /// At any port, as ranks listen. Throws RequestError.
  explicit Answering(const std::string& address) : listener_(address) {}

  uint16_t port() const { return listener_.port(); }
  void watch(std::vector<pollfd>& events) const;
  void step();

 private:
  struct Caller {
    Descriptor socket;
    size_t received = 0;
  };

  world::Listener listener_;
  std::vector<Caller> callers_;
};

/// Tries to reach a peer in the way of Answering.
class Calling {
 public:
  explicit Calling(Peer peer);

  const Peer& peer() const { return peer_; }
  void watch(std::vector<pollfd>& events) const;
  void step();
  bool done() const { return done_; }
  /// What stood against it, "is refused"; empty: it was reached. Also before it is done: as far as
  /// it has come.
  std::string problem() const;

 private:
  Peer peer_;
  Descriptor socket_;
  bool connected_ = false;
  bool done_ = false;
  int error_ = 0;
  size_t sent_ = 0;
};

}  // namespace syrtos::launch
