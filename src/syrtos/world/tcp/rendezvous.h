#pragma once

#include <list>
#include <memory>
#include <string>
#include <vector>

#include "syrtos/base/clock.h"
#include "syrtos/world/tcp/handshake.h"

namespace syrtos::world::tcp {

/// How the ranks find each other: each connects to all lower ones and accepts all higher ones.
/// Whoever else comes to the listener is dropped: at once when it says something wrong, after a
/// moment when it says nothing, and the oldest when too many wait.
class Rendezvous {
 public:
  Rendezvous(const TcpOptions& options, Listener& listener);

  /// Blocks until all are there; the connections by peer and index. Throws RunError that names
  /// the ranks that did not come within the timeout, and what was seen of each.
  std::vector<std::vector<std::unique_ptr<Stream>>> meet();

 private:
  struct Slot {
    std::unique_ptr<Stream> stream;
    double try_at = 0;  // to connect (again)
    bool trying = false;
  };

  double now() const { return seconds_since(start_); }
  bool complete() const;
  void connect_some();
  void accept_some();
  void step_all();
  void wait() const;
  [[noreturn]] void fail() const;

  const TcpOptions& options_;
  Listener& listener_;
  Clock::time_point start_ = Clock::now();
  std::vector<Endpoint> endpoints_;       // of lower ranks
  std::vector<std::vector<Slot>> slots_;  // by peer and index
  std::vector<std::string> seen_;         // by peer: the last difficulty
  std::list<Handshake> handshakes_;
};

}  // namespace syrtos::world::tcp
