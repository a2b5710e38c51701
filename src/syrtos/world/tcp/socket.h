#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>
#include <string>

#include "syrtos/base/descriptor.h"

namespace syrtos::world {

/// A listening socket. Members of a world know each other's before the world is made.
class Listener {
 public:
  /// Port 0 is any that is free. Throws RequestError that names address, port and reason.
  explicit Listener(const std::string& address, uint16_t port = 0);

  uint16_t port() const { return port_; }
  int descriptor() const { return socket_.get(); }

 private:
  Descriptor socket_;
  uint16_t port_ = 0;
};

namespace tcp {

struct Endpoint {
  sockaddr_storage address{};
  socklen_t length = 0;
};

/// Asks the resolver, which may block. Throws RunError.
Endpoint resolve(const std::string& address, uint16_t port);
/// Begins to connect; invalid with errno set when that failed at once.
Descriptor begin_connect(const Endpoint& endpoint);
/// What the sockets of a world have in common.
void prepare(int socket, double lost_after);
/// "Connection refused".
std::string error_text(int error);

}  // namespace tcp

}  // namespace syrtos::world
