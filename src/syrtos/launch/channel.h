#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "syrtos/base/descriptor.h"
#include "syrtos/world/tls.h"

namespace syrtos::launch {

/// Messages between the scheduler and a rank over a socket that does not block: lines of JSON,
/// inside TLS. Who does not know the job's token can neither read one, nor make one, nor repeat an
/// old one.
class Channel {
 public:
  enum class Side { scheduler, member };

  Channel(Descriptor socket, std::string_view token, Side side);

  int descriptor() const { return socket_.get(); }
  /// Whether the peer has shown that it knows the token, and said something.
  bool proven() const { return proven_; }
  /// Bytes wait until the socket can be written.
  bool has_unsent() const { return tls_->unsent() > 0; }

  /// Queues a message and writes what can be written.
  void send(const nlohmann::json& message);
  /// Writes what can be written. False: the connection is of no more use.
  bool flush();
  /// Reads what is there and adds the messages. False: the peer has closed, or is a stranger.
  bool receive(std::vector<nlohmann::json>& messages);

 private:
  /// False: the peer is a stranger.
  bool meet();
  bool take(std::string_view text, std::vector<nlohmann::json>& messages);

  Descriptor socket_;
  std::unique_ptr<world::Tls> tls_;
  bool met_ = false;
  bool proven_ = false;
  std::string queued_;
  std::string line_;  // that is not complete yet
};

}  // namespace syrtos::launch
