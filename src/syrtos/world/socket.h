#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>
#include <string>

#include "syrtos/base/descriptor.h"

// The sockets of worlds and of launchers. None of them blocks, and none outlives an exec.

namespace syrtos::world {

/// A listening socket. Members of a world know each other's before the world is made.
class Listener {
 public:
  /// An empty address stands for all of this machine's, port 0 for any that is free. Throws
  /// RequestError that names address, port and reason.
  explicit Listener(const std::string& address, uint16_t port = 0);

  uint16_t port() const { return port_; }
  int descriptor() const { return socket_.get(); }
  /// The next one that has come; invalid: nobody. Where the process has no descriptor left for it,
  /// it is turned away: it would stay, and whoever waits for the listener would never rest.
  Descriptor accept();

 private:
  Descriptor socket_;
  Descriptor spare_;  // given up for a moment to turn somebody away
  uint16_t port_ = 0;
};

struct Endpoint {
  sockaddr_storage address{};
  socklen_t length = 0;
};

/// Asks the resolver, which may block for some seconds. Throws RunError.
Endpoint resolve(const std::string& address, uint16_t port);
/// Begins to connect: it is done, or has failed, when the socket can be written. Invalid with errno
/// set when that failed at once.
Descriptor begin_connect(const Endpoint& endpoint);
/// errno of a connection that was begun; 0: it stands.
int connect_error(int socket);

/// The numeric address of a host, IPv4 if it has one; empty: unknown. May block for some seconds.
std::string find_address(const std::string& host);
bool is_loopback(const std::string& address);
/// Both ends of a connection have the same address, so it does not leave the machine.
bool is_to_itself(int socket);
/// The address of this machine that the other one sees; empty: there is no way to it.
std::string own_address_towards(const std::string& address);

/// For sockets that carry a world's messages: small ones go at once, urgent ones can overtake, and
/// bytes that are not acknowledged for so many seconds end the connection.
void prepare_for_messages(int socket, double lost_after);
/// For sockets that are mostly silent: a peer whose machine has vanished is noticed within about as
/// many seconds.
void watch_closely(int socket, double lost_after);

/// "Connection refused".
std::string error_text(int error);

}  // namespace syrtos::world
