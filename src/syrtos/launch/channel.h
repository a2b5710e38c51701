#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "syrtos/base/descriptor.h"

namespace syrtos::launch {

/// Messages between the scheduler and a rank over a socket that does not block. Who does not know
/// the job's token can neither make one nor repeat an old one:
///
///   each side    sends a random challenge:  "syrtos 1 CHALLENGE\n"
///   then         messages as lines:         "SEAL JSON\n"
///
/// SEAL is the HMAC-SHA256, keyed with the token, of both challenges, who speaks, the number of the
/// message and its text. Nothing is hidden: that is what TLS is for.
class Channel {
 public:
  enum class Side : char { scheduler = 's', member = 'm' };

  Channel(Descriptor socket, std::string token, Side side);

  int descriptor() const { return socket_.get(); }
  /// Whether the peer has shown that it knows the token.
  bool proven() const { return received_ > 0; }
  /// Bytes wait until the socket can be written.
  bool has_unsent() const { return !unsent_.empty(); }

  /// Queues a message and writes what can be written.
  void send(const nlohmann::json& message);
  /// Writes what can be written. False: the connection is of no more use.
  bool flush();
  /// Reads what is there and adds the messages. False: the peer has closed, or is a stranger.
  bool receive(std::vector<nlohmann::json>& messages);

 private:
  std::string seal_of(Side side, uint64_t number, std::string_view text) const;
  void queue(const std::string& text);
  bool take_line(std::string_view line, std::vector<nlohmann::json>& messages);

  Descriptor socket_;
  std::string token_;
  Side side_;
  std::string own_challenge_;
  std::string challenge_;             // of the peer
  std::vector<std::string> waiting_;  // for the challenge
  std::string unsent_;
  std::string line_;  // that is not complete yet
  uint64_t sent_ = 0;
  uint64_t received_ = 0;
};

}  // namespace syrtos::launch
